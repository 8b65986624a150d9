"""Validation rises."""

import math

from whyloss.checks.generalisation.overfitting import Overfitting
from whyloss.testing import check_contract, evidence_from, findings


def pair(val):
    train = [0.7 * math.exp(-at / 60) + 0.01 for at in range(200)]
    return evidence_from(loss=train, val_loss={"run": {at * 5: value for at, value in enumerate(val)}})


def test_keeps_the_contract():
    check_contract(Overfitting)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in Overfitting.needs)


def test_finds_a_validation_loss_that_turns():
    found, = findings(Overfitting(), pair([0.7 - 0.03 * at if at < 10 else 0.4 + 0.02 * (at - 10) for at in range(40)]))

    assert found.cause == "overfitting" and found.status == "proven" and found.subject == "validation loss"
    assert 30 <= found.step <= 70


def test_spares_a_validation_loss_that_flattens():
    assert findings(Overfitting(), pair([0.4 + 0.3 * math.exp(-at / 8) for at in range(40)])) == []


def known_by_heart(*, val_accuracy=0.7, samples=500, val_loss=1.05):
    train = [2.2 * math.exp(-at / 10) + 0.001 for at in range(200)]
    return evidence_from(loss=train, accuracy=[min(1.0, 0.1 + at / 50) for at in range(200)],
                         val_loss={"run": {at * 15: val_loss + 0.8 * math.exp(-at) for at in range(12)}},
                         val_accuracy={"run": {at * 15: val_accuracy for at in range(12)}},
                         comparison={"train.py:60": [{"prediction": [samples], "made": {"by": "argmax"}}]})


def test_finds_training_samples_known_by_heart():
    found, = findings(Overfitting(), known_by_heart())

    assert found.status == "proven" and found.subject == "validation accuracy" and "validation accuracy 0.700" in found.measured


def few_looks(val_losses):
    train = [1.1 * math.exp(-at / 10) + 0.0001 for at in range(200)]
    return evidence_from(loss=train, accuracy=[min(1.0, 0.1 + at / 50) for at in range(200)],
                         val_loss={"run": {50 * at + 45: value for at, value in enumerate(val_losses)}},
                         val_accuracy={"run": {50 * at + 45: 0.72 for at in range(len(val_losses))}},
                         comparison={"train.py:60": [{"prediction": [500], "made": {"by": "argmax"}}]})


def test_of_few_validations_each_has_to_be_worse_than_the_last():
    found, = findings(Overfitting(), few_looks([1.9, 2.6, 2.75, 2.9]))
    assert found.status == "proven" and found.subject == "validation accuracy"

    assert findings(Overfitting(), few_looks([1.9, 2.6, 2.5, 2.9])) == []
    assert findings(Overfitting(), few_looks([2.6, 2.65, 2.7, 2.75])) == []


def test_spares_a_small_gap_a_small_validation_set_and_a_low_loss():
    assert findings(Overfitting(), known_by_heart(val_accuracy=0.9)) == []
    assert findings(Overfitting(), known_by_heart(samples=20)) == []
    assert findings(Overfitting(), known_by_heart(val_loss=0.01)) == []


def test_spares_a_validation_that_is_far_off_before_anything_can_be_known_by_heart():
    train = [0.6 * math.exp(-at / 20) + 0.28 for at in range(400)]
    far = evidence_from(loss=train, val_loss={"run": {40 + 20 * at: 0.8 + 0.04 * at for at in range(16)}})
    near = evidence_from(loss=train, val_loss={"run": {40 + 20 * at: 0.4 + 0.04 * at for at in range(16)}})

    assert findings(Overfitting(), far) == []
    assert [found.cause for found in findings(Overfitting(), near)] == ["overfitting"]
