"""Gradients arrive, nobody steps."""

from whyloss.checks.wiring.step_never_called import StepNeverCalled
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(*, steps=0, changed=False, stepped=False, calls=(), optimizers=("Adam",), **more):
    return evidence_from(
        totals=[{"backward": 40, "optimizer_steps": steps}],
        calls={"backward": {"train.py:22": 40}} | dict(calls),
        optimizer={name: {"stepped": stepped, "held": 2} for name in optimizers},
        parameter={"0.weight": parameter(changed=changed), "0.bias": parameter(changed=changed)}, **more)


def test_keeps_the_contract():
    check_contract(StepNeverCalled)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in StepNeverCalled.needs)


def test_names_the_optimizer_and_the_backward_that_is_not_followed_by_a_step():
    found, = findings(StepNeverCalled(), loop())

    assert found.cause == "step-never-called" and found.status == "proven" and found.subject == "Adam"
    assert str(found.location) == "train.py:22"
    assert "40 backward passes, 0 steps" in found.measured


def test_names_the_scheduler_that_stands_in_its_place():
    found, = findings(StepNeverCalled(), loop(calls={"schedule": {"train.py:10": 1, "train.py:24": 40}}))

    assert str(found.location) == "train.py:24" and "40 scheduler steps" in found.measured


def test_names_the_one_optimizer_of_two_that_never_steps():
    evidence = evidence_from(
        totals=[{"backward": 40, "optimizer_steps": 40}], calls={"backward": {"train.py:22": 40}},
        optimizer={"Adam": {"stepped": True, "held": 1}, "SGD": {"stepped": False, "held": 1}},
        parameter={"body.weight": parameter(), "head.weight": parameter(changed=False)})
    found, = findings(StepNeverCalled(), evidence)

    assert found.subject == "SGD"


def test_spares_a_loop_that_steps():
    assert findings(StepNeverCalled(), loop(steps=40, changed=True, stepped=True)) == []


def test_spares_updates_by_hand():
    assert findings(StepNeverCalled(), loop(changed=True, optimizers=())) == []


def test_spares_an_optimizer_that_was_replaced_by_another():
    assert findings(StepNeverCalled(), loop(steps=40, changed=True)) == []


def test_leaves_an_update_by_hand_that_does_not_land_to_its_own_check():
    assert findings(StepNeverCalled(), loop(optimizers=(), calls={"read_grad": {"train.py:25": 80}})) == []


def test_leaves_a_scaler_that_skips_every_step_to_numerics():
    evidence = loop(calls={"unscale": {"train.py:23": 40}}, grad_norm_total={"train.py:22": [float("inf")] * 40})
    assert findings(StepNeverCalled(), evidence) == []
