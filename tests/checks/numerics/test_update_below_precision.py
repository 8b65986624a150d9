"""Updates that are rounded away."""

from whyloss.checks.numerics.update_below_precision import UpdateBelowPrecision
from whyloss.testing import check_contract, evidence_from, findings

FACT = {"dtype": "bfloat16", "held": True, "shape": [64, 64]}


def net(changes, fact=FACT, state="finite", rate=1e-5):
    return evidence_from(parameter={"fc1.weight": [fact]}, update_norm={"fc1.weight": changes}, grad_state={"fc1.weight": [state] * len(changes)},
                         weight_norm={"fc1.weight": [4.6]}, learning_rate={"Adam.group0": [rate]})


def test_keeps_the_contract():
    check_contract(UpdateBelowPrecision)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in UpdateBelowPrecision.needs)


def test_finds_bfloat16_weights_that_never_move():
    found, = findings(UpdateBelowPrecision(), net([0.0] * 10))

    assert found.cause == "update-below-precision" and found.status == "proven" and found.subject == "fc1.weight" and found.step == 0


def test_spares_weights_that_move_and_float32():
    assert findings(UpdateBelowPrecision(), net([1e-3] * 10)) == []
    assert findings(UpdateBelowPrecision(), net([0.0] * 10, FACT | {"dtype": "float32"})) == []


def test_spares_a_rate_of_zero_and_skipped_steps():
    assert findings(UpdateBelowPrecision(), net([0.0] * 10, rate=0.0)) == []
    assert findings(UpdateBelowPrecision(), net([0.0] * 10, state="inf")) == []
