"""Padding that is scored."""

from whyloss.checks.start.padding_in_loss import PaddingInLoss
from whyloss.testing import check_contract, evidence_from, findings


def test_keeps_the_contract():
    check_contract(PaddingInLoss)


def test_leaves_the_decision_to_the_exact_test_on_a_copy():
    evidence = evidence_from(sequence_input={"train.py:30": [{"shape": [16, 20]}]}, loss={"run": [3.0]}, loss_call={"train.py:29": [{}]})

    found, = findings(PaddingInLoss(), evidence)

    assert found.cause == "padding-in-loss" and found.status == "suspected" and found.asks == {"unseen": True}


def test_is_unexamined_where_no_model_is_fed_sequences():
    assert findings(PaddingInLoss(), evidence_from(loss={"run": [1.0]})) == []
