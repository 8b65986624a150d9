"""Exact zeros."""

from whyloss.checks.gradients.gradient_always_zero import GradientAlwaysZero
from whyloss.testing import check_contract, evidence_from, findings


def parameter(kind="Linear", **changes):
    return {"requires_grad": True, "kind": kind, "shape": [64, 64], "dtype": "float32",
            "initial": {"zero": False, "norm": 4.6, "fan_in": 64, "row_spread": 0.99}} | changes


def net(states, fact=None, **more):
    return evidence_from(parameter={"fc1.weight": [fact or parameter()]}, grad_state={"fc1.weight": states}, **more)


def test_keeps_the_contract():
    check_contract(GradientAlwaysZero)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in GradientAlwaysZero.needs)


def test_suspects_saturated_units():
    found, = findings(GradientAlwaysZero(), net(["zero"] * 5, saturated_share={"fc1:tanh": [1.0]}, activation_place={"fc1:tanh": ["net.py:7"]}))

    assert found.cause == "saturated-activations" and found.status == "suspected" and found.subject == "fc1.weight"
    assert found.step == 0 and str(found.location) == "net.py:7"


def test_suspects_underflow_in_half_precision():
    found, = findings(GradientAlwaysZero(), net(["zero"] * 5, parameter(dtype="float16")))

    assert found.cause == "half-precision-underflow"


def test_spares_a_gradient_that_is_zero_at_step_0_only():
    assert findings(GradientAlwaysZero(), net(["zero", "finite", "finite"], saturated_share={"a": [1.0]})) == []


def test_leaves_step_functions_and_dead_units_to_their_checks():
    assert findings(GradientAlwaysZero(), net(["zero"] * 5, parameter(dtype="float16"), step_function={"net.py:4": [{}]})) == []
    assert findings(GradientAlwaysZero(), net(["zero"] * 5, parameter(dtype="float16"), dead_over_batches={"a": [1.0]})) == []
