"""The most frequent class is predicted for every sample."""

from whyloss.checks.data.class_imbalance import ClassImbalance
from whyloss.testing import check_contract, evidence_from, findings


def seen(confusion, calls=10):
    return evidence_from(loss_call={"train.py:31": [{"counts": True, "confusion": confusion}] * calls})


def test_keeps_the_contract():
    check_contract(ClassImbalance)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ClassImbalance.needs)


def test_suspects_a_rare_class_that_is_never_found():
    found, = findings(ClassImbalance(), seen([[62, 0], [2, 0]]))

    assert found.cause == "class-imbalance" and found.status == "suspected" and found.subject == "labels" and found.step == 0
    assert str(found.location) == "train.py:31" and "0 of 10" in found.measured


def test_spares_a_rare_class_that_is_found_balanced_data_and_too_few_rows():
    assert findings(ClassImbalance(), seen([[61, 1], [1, 1]])) == []
    assert findings(ClassImbalance(), seen([[32, 0], [32, 0]])) == []
    assert findings(ClassImbalance(), seen([[63, 0], [0, 0]])) == []
