"""No backward pass at all."""

from whyloss.checks.wiring.backward_never_called import BackwardNeverCalled
from whyloss.testing import check_contract, evidence_from, findings


def loop(**changes):
    facts = {"totals": {"backward": 0, "optimizer_steps": 40}, "calls": {"step": {"train.py:23": 40}},
             "optimizer": {"Adam": {"stepped": True}}, "step": {"Adam": [{"with_gradient": 0}] * 40}}
    return evidence_from(**{k: [v] if k == "totals" else v for k, v in (facts | changes).items()})


def test_keeps_the_contract():
    check_contract(BackwardNeverCalled)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in BackwardNeverCalled.needs)


def test_names_the_step_that_has_nothing_to_apply():
    found, = findings(BackwardNeverCalled(), loop())

    assert found.cause == "backward-never-called" and found.status == "proven"
    assert str(found.location) == "train.py:23" and found.subject == "Adam"
    assert found.measured == "0 backward passes, 40 optimizer steps"


def test_spares_a_loop_with_backward():
    assert findings(BackwardNeverCalled(), loop(totals={"backward": 40, "optimizer_steps": 40})) == []


def test_spares_a_loop_that_uses_autograd_grad():
    calls = {"step": {"train.py:23": 40}, "autograd.grad": {"train.py:22": 40}}
    assert findings(BackwardNeverCalled(), loop(calls=calls)) == []


def test_spares_gradients_written_by_hand():
    assert findings(BackwardNeverCalled(), loop(step={"ES": [{"with_gradient": 4}] * 40})) == []


def test_spares_a_program_that_only_predicts():
    assert findings(BackwardNeverCalled(), loop(calls={}, step={})) == []
