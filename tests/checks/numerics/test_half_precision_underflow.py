"""Gradients below the smallest float16 number."""

from whyloss.checks.numerics.half_precision_underflow import HalfPrecisionUnderflow
from whyloss.testing import check_contract, evidence_from, findings


def half(states, operations=12, scale=1.0, learned=False):
    return evidence_from(half_operations=[operations], grad_state={"fc1.weight": states}, learned=[{"learned": learned}],
                         step={"Adam": [{"scale": scale}]}, backward={"train.py:20": [{}]})


def test_keeps_the_contract():
    check_contract(HalfPrecisionUnderflow)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(loss=[1.0]), "main") for need in HalfPrecisionUnderflow.needs)


def test_suspects_zero_gradients_of_float16_without_a_loss_scale():
    found, = findings(HalfPrecisionUnderflow(), half(["zero"] * 6))

    assert (found.cause, found.status, found.subject, found.step) == ("half-precision-underflow", "suspected", "fc1.weight", 0)
    assert str(found.location) == "train.py:20"


def test_spares_single_precision_a_loss_scale_living_gradients_and_trainings_that_learn():
    assert findings(HalfPrecisionUnderflow(), half(["zero"] * 6, operations=0)) == []
    assert findings(HalfPrecisionUnderflow(), half(["zero"] * 6, scale=65536.0)) == []
    assert findings(HalfPrecisionUnderflow(), half(["finite"] * 6)) == []
    assert findings(HalfPrecisionUnderflow(), half(["zero"] * 6, learned=True)) == []
