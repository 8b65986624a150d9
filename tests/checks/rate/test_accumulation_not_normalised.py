"""Several backward passes of one loss before each step are a suspicion where the training has a symptom."""

from whyloss.checks.rate.accumulation_not_normalised import AccumulationNotNormalised
from whyloss.testing import evidence_from, findings


def evidence(backward, steps=10, symptoms=("diverged",), **more):
    given = {"learning_rate": {"SGD.group0": [0.3] * 10}, "optimizer": {"SGD": [{"place": "train.py:9", "stepped": True, "groups": []}]},
             "calls": {"backward": [backward], "step": [{"train.py:30": steps}]}, **more}
    return evidence_from(**given, **({"symptoms": [list(symptoms)]} if symptoms else {}))


def test_suspects_eight_passes_a_step():
    found = findings(AccumulationNotNormalised(), evidence({"train.py:28": 80}))
    assert [(f.cause, f.status, f.subject, str(f.location)) for f in found] == [("accumulation-not-normalised", "suspected", "SGD", "train.py:28")]


def test_spares_one_pass_a_step():
    assert findings(AccumulationNotNormalised(), evidence({"train.py:28": 10})) == []


def test_spares_different_losses_each_with_its_own_pass():
    assert findings(AccumulationNotNormalised(), evidence({"train.py:27": 10, "train.py:28": 10})) == []


def test_is_unexamined_in_a_training_that_learns():
    assert findings(AccumulationNotNormalised(), evidence({"train.py:28": 80}, symptoms=())) == []


def test_spares_a_loss_that_is_divided_by_their_number():
    assert findings(AccumulationNotNormalised(), evidence({"train.py:28": 80}, loss_made={"train.py:27": [{"factor": 0.125}] * 3})) == []
    assert findings(AccumulationNotNormalised(), evidence({"train.py:28": 80}, loss_made={"train.py:27": [{"factor": 0.5}] * 3}))
