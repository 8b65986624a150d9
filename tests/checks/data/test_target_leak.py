"""An input that carries the answer, in training only."""

from whyloss.checks.data.target_leak import TargetLeak
from whyloss.testing import check_contract, evidence_from, findings


def seen(train, val, **more):
    return evidence_from(loss=[0.7] + [train] * 12, val_loss=[0.7, val], evaluation_inputs={"train.py:40": [{"rows": 100}]},
                         input={"train.py:34": [{"mean": 0.0}]}, **more)


def test_keeps_the_contract():
    check_contract(TargetLeak)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in TargetLeak.needs)


def test_suspects_a_training_that_is_far_better_than_its_evaluation():
    found, = findings(TargetLeak(), seen(0.01, 2.3))

    assert found.cause == "target-leak" and found.status == "suspected" and found.asks["unseen"] and found.step == 0
    assert str(found.location) == "train.py:34"


def test_a_gap_in_accuracy_is_enough():
    assert findings(TargetLeak(), seen(0.1, 0.1, accuracy=[1.0] * 8, val_accuracy=[0.5]))


def test_spares_a_feature_that_is_as_strong_on_new_rows():
    assert findings(TargetLeak(), seen(0.01, 0.012, accuracy=[1.0] * 8, val_accuracy=[0.99])) == []
