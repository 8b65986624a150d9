"""Weight decay far above the usual is a suspicion where nothing is learned."""

from whyloss.checks.rate.weight_decay_too_strong import WeightDecayTooStrong
from whyloss.testing import evidence_from, findings


def evidence(decay, **more):
    return evidence_from(optimizer={"SGD": [{"place": "train.py:7", "groups": [{"lr": 0.1, "weight_decay": decay}]}]},
                         weight_norm={"fc.weight": [4.0, 0.1]}, **more)


def test_suspects_a_decay_that_shrinks_the_weights():
    found = findings(WeightDecayTooStrong(), evidence(0.5, symptoms=[["flat-at-baseline"]]))
    assert [(f.cause, f.subject, str(f.location)) for f in found] == [("weight-decay-too-strong", "SGD.group0", "train.py:7")]
    assert "1 of 1 tensors" in found[0].measured


def test_spares_a_usual_decay():
    assert findings(WeightDecayTooStrong(), evidence(1e-2, symptoms=[["flat-at-baseline"]])) == []


def test_is_unexamined_when_the_training_learns():
    assert findings(WeightDecayTooStrong(), evidence(0.5)) == []
