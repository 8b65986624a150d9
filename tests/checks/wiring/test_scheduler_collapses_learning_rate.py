"""A schedule that ends too early."""

from math import cos, pi

from whyloss.checks.wiring.scheduler_collapses_learning_rate import SchedulerCollapsesLearningRate
from whyloss.testing import check_contract, evidence_from, findings


def loop(rates, **more):
    return evidence_from(learning_rate={"SGD.group0": rates},
                         schedule={"train.py:37": [{"kind": "StepLR"}], "train.py:48": [{"kind": "StepLR"}] * len(rates)}, **more)


COLLAPSE = [0.02 * 0.1 ** (at // 4) for at in range(100)]


def test_keeps_the_contract():
    check_contract(SchedulerCollapsesLearningRate)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SchedulerCollapsesLearningRate.needs)


def test_names_the_line_that_steps_the_schedule():
    found, = findings(SchedulerCollapsesLearningRate(), loop(COLLAPSE))

    assert found.cause == "scheduler-collapses-learning-rate" and found.status == "suspected" and found.subject == "StepLR"
    assert str(found.location) == "train.py:48" and found.step == 16


def test_spares_a_run_that_has_converged():
    assert findings(SchedulerCollapsesLearningRate(), loop(COLLAPSE, learned=[{"learned": True, "share": 0.98}])) == []


def test_spares_a_cosine_and_a_line_to_zero():
    assert findings(SchedulerCollapsesLearningRate(), loop([1 + cos(pi * at / 99) for at in range(100)])) == []
    assert findings(SchedulerCollapsesLearningRate(), loop([1 - at / 99 for at in range(100)])) == []


def test_spares_warm_restarts():
    assert findings(SchedulerCollapsesLearningRate(), loop([1 + cos(pi * (at % 20) / 19) for at in range(100)])) == []


def test_spares_a_long_warm_up():
    assert findings(SchedulerCollapsesLearningRate(), loop([1e-7] * 60 + [0.1] * 40)) == []
