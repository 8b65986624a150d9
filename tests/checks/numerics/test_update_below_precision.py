"""Updates that are rounded away."""

from whyloss.checks.numerics.update_below_precision import UpdateBelowPrecision
from whyloss.testing import check_contract, evidence_from, findings

FACT = {"dtype": "bfloat16", "held": True, "shape": [64, 64]}


def net(still, fact=FACT, state="finite", rate=1e-5, **more):
    return evidence_from(parameter={"fc1.weight": [fact]}, unchanged_share={"fc1.weight": still}, grad_state={"fc1.weight": [state] * len(still)},
                         learning_rate={"Adam.group0": [rate]}, **more)


def test_keeps_the_contract():
    check_contract(UpdateBelowPrecision)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in UpdateBelowPrecision.needs)


def test_proves_bfloat16_weights_that_never_move():
    found, = findings(UpdateBelowPrecision(), net([1.0] * 10))

    assert found.cause == "update-below-precision" and found.status == "proven" and found.subject == "fc1.weight" and found.step == 0


def test_suspects_a_majority_that_does_not_move():
    found, = findings(UpdateBelowPrecision(), net([0.7] * 10))

    assert found.status == "suspected" and "70%" in found.measured


def test_spares_weights_that_move_and_float32_and_trainings_that_learn():
    assert findings(UpdateBelowPrecision(), net([0.2] * 10)) == []
    assert findings(UpdateBelowPrecision(), net([1.0] * 10, FACT | {"dtype": "float32"})) == []
    assert findings(UpdateBelowPrecision(), net([0.9] * 10, learned=[{"learned": True}])) == []


def test_spares_a_rate_of_zero_and_skipped_steps():
    assert findings(UpdateBelowPrecision(), net([1.0] * 10, rate=0.0)) == []
    assert findings(UpdateBelowPrecision(), net([1.0] * 10, state="inf")) == []
