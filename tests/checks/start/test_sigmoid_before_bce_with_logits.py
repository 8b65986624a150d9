"""Sigmoid in front of a loss that applies it."""

from whyloss.checks.start.sigmoid_before_bce_with_logits import SigmoidBeforeBceWithLogits
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'binary_cross_entropy_with_logits', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64],
        "producer": 'sigmoid',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(SigmoidBeforeBceWithLogits)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SigmoidBeforeBceWithLogits.needs)


def test_finds_a_doubled_sigmoid():
    found, = findings(SigmoidBeforeBceWithLogits(), call(min=0.4, max=0.6))

    assert found.cause == "sigmoid-before-bce-with-logits" and found.status == "proven"
    assert str(found.location) == "net.py:20" and found.subject == "head" and found.step == 0


def test_spares_logits():
    assert findings(SigmoidBeforeBceWithLogits(), call(producer="linear")) == []


def test_spares_probabilities_given_to_plain_bce():
    assert findings(SigmoidBeforeBceWithLogits(), call(function="binary_cross_entropy", min=0.4, max=0.6)) == []
