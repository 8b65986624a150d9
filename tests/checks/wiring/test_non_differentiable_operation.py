"""An operation without a slope."""

from whyloss.checks.wiring.non_differentiable_operation import NonDifferentiableOperation
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(state="zero", encoder=None, **more):
    return evidence_from(parameter={"encoder.weight": encoder or parameter(), "decoder.weight": parameter()},
                         grad_state={"encoder.weight": [state] * 5, "decoder.weight": ["finite"] * 5}, **more)


ROUND = {"train.py:18": [{"operation": "round", "module": ""}] * 5}


def test_keeps_the_contract():
    check_contract(NonDifferentiableOperation)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in NonDifferentiableOperation.needs)


def test_names_the_rounding_and_what_lies_in_front():
    found, = findings(NonDifferentiableOperation(), loop(step_function=ROUND))

    assert found.cause == "non-differentiable-operation" and found.status == "proven" and found.subject == "encoder"
    assert str(found.location) == "train.py:18" and "gradient of exactly 0" in found.measured


def test_names_an_argmax_that_cuts_the_path():
    cut = {"train.py:20": [{"operation": "argmax", "grad_enabled": True}] * 5}
    found, = findings(NonDifferentiableOperation(), loop("none", parameter(reached=False), cut=cut))

    assert str(found.location) == "train.py:20" and "argmax" in found.measured


def test_spares_a_straight_through_estimator():
    assert findings(NonDifferentiableOperation(), loop("finite", step_function=ROUND)) == []


def test_spares_zero_gradients_without_such_an_operation():
    assert findings(NonDifferentiableOperation(), loop("zero")) == []


def test_spares_a_gradient_that_is_zero_at_first_only():
    evidence = loop("zero", step_function=ROUND)
    evidence.add("grad_state", "finite", subject="encoder.weight", step=5)
    assert findings(NonDifferentiableOperation(), evidence) == []


def test_spares_masks_and_labels():
    cut = {"train.py:20": [{"operation": "argmax", "grad_enabled": True}] * 5}
    assert findings(NonDifferentiableOperation(), loop("finite", cut=cut)) == []


def test_finds_a_latent_that_is_drawn_without_reparameterisation():
    row = {"operation": "normal", "module": "", "into": "decoder"}

    found, = findings(NonDifferentiableOperation(), evidence_from(
        drawn={"vae.py:20": [row] * 3}, grad_state={"decoder.weight": ["finite"] * 3}, loss=[3.0, 2.0, 1.5],
        parameter={"decoder.weight": [{"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4]}]}))

    assert found.cause == "non-differentiable-operation" and found.status == "proven"
    assert str(found.location) == "vae.py:20" and found.subject == "decoder"
