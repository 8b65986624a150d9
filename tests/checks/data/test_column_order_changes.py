"""Columns that stand in another order in each batch."""

from whyloss.checks.data.column_order_changes import ColumnOrderChanges
from whyloss.testing import check_contract, evidence_from, findings


def test_keeps_the_contract():
    check_contract(ColumnOrderChanges)


def test_is_unexamined_without_a_symptom():
    assert any(need.lacking(evidence_from(loss=[2.3] * 20), "main") for need in ColumnOrderChanges.needs)


def test_leaves_the_decision_to_the_experiment():
    found, = findings(ColumnOrderChanges(), evidence_from(symptoms=[["flat-from-start"]], loss=[2.3] * 20, main_loss_place="train.py:49"))

    assert found.cause == "model-drops-information" and found.status == "suspected" and found.asks["unseen"]
    assert str(found.location) == "train.py:49" and "flat-from-start" in found.explains
