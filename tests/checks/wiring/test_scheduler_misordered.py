"""A scheduler out of order."""

from whyloss.checks.wiring.scheduler_misordered import SchedulerMisordered
from whyloss.testing import check_contract, evidence_from, findings


def rows(*steps_done):
    return [{"kind": "StepLR", "lr": [0.1], "steps_done": done} for done in steps_done]


def loop(places, **more):
    return evidence_from(schedule=places, learning_rate={"SGD.group0": [0.1] * 40},
                         totals=[{"optimizer_steps": 40}], **more)


def test_keeps_the_contract():
    check_contract(SchedulerMisordered)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SchedulerMisordered.needs)


def test_notes_a_scheduler_that_steps_first():
    found, = findings(SchedulerMisordered(), loop({"train.py:9": rows(0), "train.py:20": rows(0, 1, 2)}))

    assert found.cause == "scheduler-misordered" and found.status == "note" and found.subject == "StepLR"
    assert str(found.location) == "train.py:20"


def test_suspects_a_warm_up_that_is_never_advanced():
    held = {"SGD": {"groups": [{"lr": 1e-4, "initial_lr": 0.1}]}}
    found, = findings(SchedulerMisordered(), loop({"train.py:9": rows(0)}, optimizer=held))

    assert found.status == "suspected" and str(found.location) == "train.py:9" and "0 scheduler steps" in found.measured


def test_spares_the_step_of_the_constructor():
    fine = {"SGD": {"groups": [{"lr": 0.1, "initial_lr": 0.1}]}}
    assert findings(SchedulerMisordered(), loop({"train.py:9": rows(0), "train.py:20": rows(1, 2, 3)})) == []
    assert findings(SchedulerMisordered(), loop({"train.py:9": rows(0)}, optimizer=fine)) == []


def test_spares_a_first_step_that_the_scaler_skipped():
    evidence = loop({"train.py:20": rows(0, 0, 1)}, calls={"unscale": {"train.py:18": 40}})
    assert findings(SchedulerMisordered(), evidence) == []
