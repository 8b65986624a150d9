"""The ledger in memory: columns by run, quantity and subject."""

import math

import numpy as np

from whyloss.cause import remedy_wins, tail
from whyloss.evidence import Evidence
from whyloss.testing import evidence_from


def test_a_column_keeps_the_order_in_which_it_was_observed():
    evidence = Evidence()
    evidence.add("loss", 2.0, step=0)
    evidence.add("loss", 1.0, step=5)
    series = evidence.series("loss")
    assert (series.first.value, series.last.step, series.at(5)) == (2.0, 5, 1.0)


def test_nothing_observed_is_empty_and_false():
    assert not Evidence().series("loss")


def test_a_series_is_seen_up_to_its_first_non_finite_value():
    series = evidence_from(loss=[1.0, 2.0, math.nan, 3.0]).series("loss")
    assert len(series.finite()) == 2
    assert series.first_non_finite() == 2


def test_until_forgets_what_came_later():
    evidence = evidence_from(loss=[3.0, 2.0, 1.0])
    assert evidence.until(2).series("loss").values == [3.0, 2.0]


def arms(control, changed):
    evidence = Evidence()
    for arm, losses in (("control", control), ("changed", changed)):
        for step, value in enumerate(losses):
            evidence.add("loss", value, step=step, run=f"trial/{arm}")
    return evidence


def test_a_remedy_wins_only_against_its_control_arm():
    falling = list(np.linspace(2.3, 0.1, 60))
    assert remedy_wins(arms([2.3] * 60, falling), "trial")
    assert not remedy_wins(arms(falling, falling), "trial")


def test_a_remedy_that_stays_finite_wins_over_a_run_that_blew_up():
    assert remedy_wins(arms([1.0, 1e9, math.inf], list(np.linspace(1.0, 0.1, 60))), "trial")


def test_a_remedy_that_blows_up_itself_never_wins():
    assert not remedy_wins(arms([2.3] * 60, [2.3, 1.0, math.inf]), "trial")


def test_the_tail_of_a_run_that_ended_non_finite_is_infinite():
    assert tail(np.array([1.0, 2.0, math.nan])) == math.inf
