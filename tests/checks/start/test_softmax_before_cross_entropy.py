"""Softmax in front of cross-entropy."""

from whyloss.checks.start.softmax_before_cross_entropy import SoftmaxBeforeCrossEntropy
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64],
        "producer": 'softmax',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


PROBABILITIES = {"classes": 10, "min": 0.01, "max": 0.4, "row_sum_error": 1e-7, "producer_dim": 1, "producer_shape": [64, 10]}


def test_keeps_the_contract():
    check_contract(SoftmaxBeforeCrossEntropy)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SoftmaxBeforeCrossEntropy.needs)


def test_finds_a_doubled_softmax_and_names_its_line_and_floor():
    found, = findings(SoftmaxBeforeCrossEntropy(), call(**PROBABILITIES))

    assert found.cause == "softmax-before-cross-entropy" and found.status == "proven" and found.step == 0
    assert str(found.location) == "net.py:20" and found.subject == "head"
    assert "1.46" in found.message


def test_spares_logits_and_log_softmax():
    assert findings(SoftmaxBeforeCrossEntropy(), call(classes=10, producer="linear")) == []
    assert findings(SoftmaxBeforeCrossEntropy(), call(classes=10, producer="log_softmax")) == []


def test_leaves_a_softmax_over_another_axis_to_its_own_check():
    assert findings(SoftmaxBeforeCrossEntropy(), call(**PROBABILITIES | {"row_sum_error": 0.8})) == []


def test_spares_a_loss_that_is_only_shown():
    assert findings(SoftmaxBeforeCrossEntropy(), call(**PROBABILITIES, counts=False)) == []
