"""Old gradients in calls of a closure."""

from whyloss.checks.wiring.closure_keeps_gradients import ClosureKeepsGradients
from whyloss.testing import check_contract, evidence_from, findings


def steps(old, calls=8, count=10, **changes):
    return evidence_from(closure_step={"LBFGS": [{"place": "fit.py:31", "held": 4, "calls": calls, "old": old, "tensors": 4 if old else 0,
                                                  "backward": "fit.py:27", "within": True} | changes] * count})


def test_keeps_the_contract():
    check_contract(ClosureKeepsGradients)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ClosureKeepsGradients.needs)


def test_names_the_backward_inside_the_closure():
    found, = findings(ClosureKeepsGradients(), steps(7))

    assert found.cause == "gradients-not-cleared" and found.status == "proven" and found.subject == "LBFGS" and found.step == 0
    assert str(found.location) == "fit.py:27" and "70 of 80 calls" in found.measured and "8 times in a step" in found.message
    assert "inside the closure" in found.remedies[0]


def test_one_long_step_is_enough():
    assert findings(ClosureKeepsGradients(), steps(99, calls=100, count=1))


def test_names_the_step_of_an_optimizer_that_calls_once():
    found, = findings(ClosureKeepsGradients(), steps(1, calls=1))

    assert "once" not in found.message and "sum of all gradients" in found.message


def test_does_not_blame_a_closure_that_only_hands_the_loss_over():
    found, = findings(ClosureKeepsGradients(), steps(1, calls=1, within=False))

    assert "closure" not in found.remedies[0] and found.message.startswith("Nobody clears")


def test_spares_closures_that_clear():
    assert findings(ClosureKeepsGradients(), steps(0)) == []


def test_spares_a_single_slip():
    assert findings(ClosureKeepsGradients(), steps(1, calls=8, count=2)) == []
