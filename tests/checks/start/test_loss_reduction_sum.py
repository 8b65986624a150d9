"""A summed loss."""

from whyloss.checks.start.loss_reduction_sum import LossReductionSum
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(LossReductionSum)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossReductionSum.needs)


def test_suspects_a_sum_over_the_batch():
    found, = findings(LossReductionSum(), call(reduction="sum", value=148.0, loss=(148.0, 150.0, 900.0)))

    assert found.cause == "loss-reduction-scale" and found.status == "suspected" and found.step == 0
    assert str(found.location) == "train.py:31" and found.asks["size"] == 64 and found.subject == "cross_entropy"


def test_spares_a_sum_that_is_divided_afterwards():
    assert findings(LossReductionSum(), call(reduction="sum", value=148.0, loss=(2.3, 2.2, 2.0))) == []


def test_spares_a_variational_autoencoder_that_learns():
    evidence = call(reduction="sum", value=148.0, loss=(148.0, 60.0, 25.0))
    evidence.add("learned", {"learned": True, "share": 0.8})

    assert findings(LossReductionSum(), evidence) == []
