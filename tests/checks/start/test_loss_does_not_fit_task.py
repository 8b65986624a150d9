"""Loss of another task."""

from whyloss.checks.start.loss_does_not_fit_task import LossDoesNotFitTask
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'mse_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


IDS = {"shape": [64], "target_whole": True, "target_entropy": 2.28}


def test_keeps_the_contract():
    check_contract(LossDoesNotFitTask)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossDoesNotFitTask.needs)


def test_suspects_squared_error_on_class_ids():
    found, = findings(LossDoesNotFitTask(), call(**IDS))

    assert found.cause == "loss-does-not-fit-task" and found.status == "suspected" and found.step == 0
    assert str(found.location) == "train.py:31" and found.subject == "mse_loss"


def test_proves_binary_cross_entropy_on_three_classes():
    found, = findings(LossDoesNotFitTask(), call(function="binary_cross_entropy", target_max=2.0))

    assert found.status == "proven" and found.subject == "head"


def test_spares_counts_and_real_numbers():
    assert findings(LossDoesNotFitTask(), call(**IDS | {"target_entropy": 1.2})) == []
    assert findings(LossDoesNotFitTask(), call(**IDS | {"target_whole": False})) == []


def test_spares_soft_binary_targets():
    assert findings(LossDoesNotFitTask(), call(function="binary_cross_entropy", target_max=0.95)) == []
