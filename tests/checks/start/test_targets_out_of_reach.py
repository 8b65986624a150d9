"""Range of the output."""

from whyloss.checks.start.targets_out_of_reach import TargetsOutOfReach
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'mse_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'sigmoid',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(TargetsOutOfReach)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in TargetsOutOfReach.needs)


def test_finds_targets_above_a_sigmoid():
    found, = findings(TargetsOutOfReach(), call(target_max=10.0))

    assert found.cause == "targets-out-of-reach" and found.status == "proven" and found.step == 0
    assert str(found.location) == "net.py:20" and found.subject == "head"


def test_finds_negative_targets_behind_relu():
    found, = findings(TargetsOutOfReach(), call(producer="relu", target_min=-3.0, target_max=3.0, target_std=1.0))

    assert "0 or more" in found.message


def test_spares_targets_in_range_and_noise_at_its_edge():
    assert findings(TargetsOutOfReach(), call(target_max=1.0, target_std=0.3)) == []
    assert findings(TargetsOutOfReach(), call(target_max=1.05, target_std=0.3)) == []


def test_spares_a_linear_output():
    assert findings(TargetsOutOfReach(), call(producer="linear", target_max=10.0)) == []
