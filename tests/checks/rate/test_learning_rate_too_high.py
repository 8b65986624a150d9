"""A rate that is too high is a suspicion where the loss diverges, jumps or sits flat after large moves."""

from whyloss.checks.rate.learning_rate_too_high import LearningRateTooHigh
from whyloss.testing import evidence_from, findings


def evidence(losses, ratio=0.3, rate=10.0, symptoms=("diverged",)):
    return evidence_from(symptoms=[list(symptoms)], learning_rate={"SGD.group0": [rate] * 40}, update_ratio={"fc.weight": [ratio] * 20},
                         optimizer={"SGD": [{"place": "train.py:12"}]}, loss=losses)


def test_suspects_a_loss_that_grew():
    found = findings(LearningRateTooHigh(), evidence([2.3 * 1.5**i for i in range(40)]))
    assert [f.cause for f in found] == ["learning-rate-too-high"]
    assert found[0].subject == "SGD.group0" and str(found[0].location) == "train.py:12"


def test_names_the_step_of_the_first_non_finite_loss():
    found = findings(LearningRateTooHigh(), evidence([2.0, 1e9, float("inf"), float("nan")], symptoms=("non-finite",)))
    assert found[0].step == 2


def test_spares_a_loss_that_was_non_finite_before_any_step():
    assert findings(LearningRateTooHigh(), evidence([float("nan")] * 20, symptoms=("non-finite",))) == []


def test_spares_a_flat_loss_whose_weights_hardly_move():
    assert findings(LearningRateTooHigh(), evidence([2.3] * 40, ratio=1e-7, symptoms=("flat-from-start",))) == []


def test_is_unexamined_without_a_symptom():
    assert findings(LearningRateTooHigh(), evidence_from(loss=[1.0], learning_rate={"SGD.group0": [1.0]})) == []


def test_asks_whether_a_lower_rate_breaks_where_the_first_steps_were_leaps():
    late = [2.0, 0.4, 0.4, 0.4, 1.7]
    found, = findings(LearningRateTooHigh(), evidence(late))
    assert found.asks == {"broke": 1.7}
    assert findings(LearningRateTooHigh(), evidence(late, ratio=0.05))[0].asks == {}
    assert findings(LearningRateTooHigh(), evidence(late, symptoms=("oscillating",)))[0].asks == {}
