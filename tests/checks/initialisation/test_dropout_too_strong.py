"""Dropout is a suspicion only where nothing is learned; the experiment decides."""

from whyloss.checks.initialisation.dropout_too_strong import DropoutTooStrong
from whyloss.testing import evidence_from, findings


def evidence(kind="Dropout", active=True, **more):
    return evidence_from(layer={"drop": [{"kind": kind, "in": "(8, 4)", "out": "(8, 4)"}]}, mode_in_loss={"drop": [active] * 3},
                         root={"train.py:9": [{}]}, **more)


def test_suspects_active_dropout_in_a_training_that_does_not_learn():
    found = findings(DropoutTooStrong(), evidence(symptoms=[["flat-at-baseline"]]))
    assert [(f.cause, f.subject, f.status, str(f.location)) for f in found] == [("dropout-too-strong", "drop", "suspected", "train.py:9")]


def test_spares_batch_norm_and_dropout_that_is_off():
    assert findings(DropoutTooStrong(), evidence(kind="BatchNorm1d", symptoms=[["flat-at-baseline"]])) == []
    assert findings(DropoutTooStrong(), evidence(active=False, symptoms=[["flat-at-baseline"]])) == []


def test_is_unexamined_when_the_training_learns():
    assert findings(DropoutTooStrong(), evidence()) == []
