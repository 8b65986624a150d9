"""Backward or step inside autocast."""

from whyloss.checks.generalisation.step_inside_autocast import StepInsideAutocast
from whyloss.testing import check_contract, evidence_from, findings


def loop(inside, backward=40):
    calls = {"backward": [{"train.py:20": backward}]}
    if inside:
        calls["backward_in_autocast"] = [{"train.py:20": inside}]
    return evidence_from(calls=calls, totals=[{"backward": backward, "optimizer_steps": backward}])


def test_keeps_the_contract():
    check_contract(StepInsideAutocast)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in StepInsideAutocast.needs)


def test_proves_a_backward_inside_the_region():
    found, = findings(StepInsideAutocast(), loop(40))

    assert found.cause == "step-inside-autocast" and found.status == "proven" and found.subject == "autocast" and found.step == 0
    assert str(found.location) == "train.py:20" and "40 of 40" in found.measured


def test_spares_a_region_that_ends_before_the_backward():
    assert findings(StepInsideAutocast(), loop(0)) == []


def test_spares_a_single_call():
    assert findings(StepInsideAutocast(), loop(2)) == []
