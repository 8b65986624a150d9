"""A rate that is too low is a suspicion where nothing is learned and the weights hardly move."""

from whyloss.check import Need
from whyloss.checks.rate.learning_rate_too_low import LearningRateTooLow
from whyloss.testing import evidence_from, findings


def evidence(ratio=1e-8, rate=1e-7, symptoms=("flat-from-start",)):
    return evidence_from(symptoms=[list(symptoms)], learning_rate={"Adam.group0": [rate] * 40}, update_ratio={"fc.weight": [ratio] * 20},
                         optimizer={"Adam": [{"place": "train.py:12"}]}, loss=[2.3] * 40)


def test_suspects_a_rate_that_hardly_moves_the_weights():
    found = findings(LearningRateTooLow(), evidence())
    assert [f.cause for f in found] == ["learning-rate-too-low"]
    assert found[0].status == "suspected" and str(found[0].location) == "train.py:12" and found[0].subject == "Adam.group0"


def test_spares_weights_that_move_well():
    assert findings(LearningRateTooLow(), evidence(ratio=1e-2)) == []


def test_spares_a_loss_that_diverged():
    assert findings(LearningRateTooLow(), evidence(symptoms=("diverged",))) == []


def test_leaves_a_rate_of_zero_to_its_own_check():
    assert findings(LearningRateTooLow(), evidence(rate=0.0)) == []


def test_is_unexamined_when_the_training_has_no_symptom():
    lacking = evidence_from(learning_rate={"Adam.group0": [1e-7]})
    assert Need("symptoms").lacking(lacking, "main") and findings(LearningRateTooLow(), lacking) == []
