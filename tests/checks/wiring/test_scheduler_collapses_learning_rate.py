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


def cut_early(falls=True, share=0.5, at=3):
    losses = [2 - 0.01 * step if falls else 1.0 for step in range(100)]
    return loop([0.02] * at + [2e-4] * (100 - at), loss=losses, learned=[{"learned": True, "share": share}])


def test_doubts_a_rate_that_is_cut_at_once_where_the_loss_falls_to_the_end():
    found, = findings(SchedulerCollapsesLearningRate(), cut_early())

    assert found.status == "suspected" and found.step == 3 and "0.01 of its peak" in found.message


def test_spares_a_rate_that_is_cut_where_nothing_is_missed_or_later():
    assert findings(SchedulerCollapsesLearningRate(), cut_early(falls=False)) == []
    assert findings(SchedulerCollapsesLearningRate(), cut_early(share=0.9)) == []
    assert findings(SchedulerCollapsesLearningRate(), cut_early(at=30)) == []


def by_hand(rates, *, groups=1, **more):
    return evidence_from(learning_rate={f"SGD.group{at}": rates if at < 1 else [0.1] * len(rates) for at in range(groups)},
                         rate_written=["train.py:20"], **more)


def test_names_the_line_of_a_schedule_by_hand():
    found, = findings(SchedulerCollapsesLearningRate(), by_hand([0.1, 0.05] + [0.0] * 98))

    assert found.status == "suspected" and str(found.location) == "train.py:20" and found.subject == "SGD.group0"


def test_spares_a_part_that_is_stopped_by_hand_before_the_others():
    assert findings(SchedulerCollapsesLearningRate(), by_hand([0.1] * 20 + [0.0] * 80, groups=2)) == []


def test_doubts_a_run_that_came_far_only_where_the_rate_is_gone_while_the_loss_falls():
    falls, stays = [0.9 ** at for at in range(20)] + [0.12] * 80, [1.0] * 3 + [0.1] * 97
    far = {"learned": [{"learned": True, "share": 0.95}]}
    gone, little = [0.1] * 20 + [0.0] * 80, [0.1] * 20 + [5e-5] * 80

    assert findings(SchedulerCollapsesLearningRate(), by_hand(gone, loss=falls, **far))
    assert findings(SchedulerCollapsesLearningRate(), by_hand(gone, loss=stays, **far)) == []
    assert findings(SchedulerCollapsesLearningRate(), by_hand(little, loss=falls, **far)) == []
