"""Dropout is a suspicion only where nothing is learned; the experiment decides."""

from whyloss.checks.initialisation.dropout_too_strong import DropoutTooStrong
from whyloss.testing import evidence_from, findings

CALLS = {"drop": [{"p": 0.2, "place": "train.py:9"}], "head": [{"p": 0.9, "place": "train.py:11"}]}


def test_suspects_the_strongest_dropout_in_a_training_that_does_not_learn():
    found, = findings(DropoutTooStrong(), evidence_from(dropout=CALLS, symptoms=[["flat-at-baseline"]]))

    assert (found.cause, found.subject, found.status, str(found.location)) == ("dropout-too-strong", "head", "suspected", "train.py:11")
    assert "p = 0.9" in found.measured


def test_is_unexamined_without_active_dropout():
    assert findings(DropoutTooStrong(), evidence_from(symptoms=[["flat-at-baseline"]])) == []


def test_is_unexamined_when_the_training_learns():
    assert findings(DropoutTooStrong(), evidence_from(dropout=CALLS)) == []
