"""Softmax of one number."""

from whyloss.checks.start.softmax_over_one_element import SoftmaxOverOneElement
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'binary_cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64],
        "producer": 'softmax',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(SoftmaxOverOneElement)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SoftmaxOverOneElement.needs)


def test_finds_a_softmax_over_a_single_unit():
    found, = findings(SoftmaxOverOneElement(), call(shape=[32, 1], producer_dim=1, producer_shape=[32, 1]))

    assert found.cause == "softmax-over-one-element" and found.status == "proven" and found.step == 0
    assert str(found.location) == "net.py:20" and found.subject == "softmax"


def test_finds_cross_entropy_over_a_single_class():
    found, = findings(SoftmaxOverOneElement(), call(function="cross_entropy", producer="linear", shape=[32, 1]))

    assert str(found.location) == "train.py:31" and found.subject == "head"


def test_spares_two_classes():
    assert findings(SoftmaxOverOneElement(), call(shape=[32, 2], producer_dim=1, producer_shape=[32, 2])) == []


def test_finds_one_hidden_behind_a_loss_written_by_hand():
    evidence = evidence_from(loss=[5.0, 5.0], parameter={"w": {"requires_grad": True}}, grad_state={"w": ["zero", "zero"]},
                             normalised_over={"net.py:9": [{"function": "softmax", "dim": 1, "shape": [50, 1], "module": ""}] * 2})
    found, = findings(SoftmaxOverOneElement(), evidence)
    assert found.status == "proven" and str(found.location) == "net.py:9"


def test_spares_attention_over_one_key():
    evidence = evidence_from(loss=[5.0, 5.0], parameter={"w": {"requires_grad": True}, "q": {"requires_grad": True}},
                             grad_state={"w": ["finite", "finite"], "q": ["zero", "zero"]},
                             normalised_over={"net.py:9": [{"function": "softmax", "dim": 1, "shape": [50, 1], "module": ""}] * 2})
    assert findings(SoftmaxOverOneElement(), evidence) == []
