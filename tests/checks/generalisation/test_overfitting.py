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
