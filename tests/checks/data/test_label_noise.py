"""Training labels of which a share is wrong."""

from whyloss.checks.data.label_noise import LabelNoise
from whyloss.testing import check_contract, evidence_from, findings


def seen(train, val):
    return evidence_from(loss_call={"train.py:31": [{"function": "cross_entropy"}]}, accuracy=[0.1] * 4 + [train] * 8, val_accuracy=[0.2, val])


def test_keeps_the_contract():
    check_contract(LabelNoise)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LabelNoise.needs)


def test_suspects_an_evaluation_that_is_answered_better_than_training():
    found, = findings(LabelNoise(), seen(0.62, 0.92))

    assert found.cause == "label-noise" and found.status == "suspected" and found.subject == "labels" and found.step == 11
    assert str(found.location) == "train.py:31" and found.asks["unseen"]


def test_spares_noise_that_both_sets_share_and_an_ordinary_gap():
    assert findings(LabelNoise(), seen(0.68, 0.69)) == []
    assert findings(LabelNoise(), seen(0.99, 0.92)) == []
