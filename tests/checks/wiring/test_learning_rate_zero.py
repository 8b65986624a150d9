"""A rate of exactly 0."""

from whyloss.checks.wiring.learning_rate_zero import LearningRateZero
from whyloss.testing import check_contract, evidence_from, findings


def loop(rates, *, initial_lr=None, **more):
    groups = [{"lr": 0.0} | ({"initial_lr": initial_lr} if initial_lr else {})]
    return evidence_from(learning_rate=rates, optimizer={"Adam": {"place": "train.py:32", "groups": groups}},
                         calls={"schedule": {"train.py:40": 1, "train.py:50": 40}} if initial_lr else {}, **more)


def test_keeps_the_contract():
    check_contract(LearningRateZero)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LearningRateZero.needs)


def test_names_the_line_that_makes_the_optimizer():
    found, = findings(LearningRateZero(), loop({"Adam.group0": [0.0] * 40}))

    assert found.cause == "learning-rate-zero" and found.status == "proven" and found.subject == "Adam"
    assert str(found.location) == "train.py:32" and "all 40 steps" in found.measured


def test_names_the_schedule_that_keeps_it_at_zero():
    found, = findings(LearningRateZero(), loop({"Adam.group0": [0.0] * 40}, initial_lr=0.01))

    assert str(found.location) == "train.py:50"


def test_suspects_one_group_of_two():
    found, = findings(LearningRateZero(), loop({"Adam.group0": [0.0] * 40, "Adam.group1": [0.1] * 40}))

    assert found.status == "suspected"


def test_only_notes_one_group_of_two_where_the_run_learned():
    rates = {"Adam.group0": [0.0] * 40, "Adam.group1": [0.1] * 40}
    found, = findings(LearningRateZero(), loop(rates, learned=[{"learned": True, "share": 0.9}]))

    assert found.status == "note"


def test_spares_a_warm_up_from_zero():
    assert findings(LearningRateZero(), loop({"Adam.group0": [0.0, 0.0, 0.0, 1e-4, 2e-4]}, initial_lr=0.01)) == []
