"""An end token that is masked with the padding."""

from whyloss.checks.start.end_never_scored import EndNeverScored
from whyloss.testing import check_contract, evidence_from, findings


def test_keeps_the_contract():
    check_contract(EndNeverScored)


def test_leaves_the_decision_to_the_exact_test_on_a_copy():
    evidence = evidence_from(sequence_input={"train.py:30": [{"shape": [16, 20]}]}, loss={"run": [3.0]}, loss_call={"train.py:29": [{}]})

    found, = findings(EndNeverScored(), evidence)

    assert found.cause == "padding-in-loss" and found.status == "suspected" and found.asks == {"unseen": True, "end": True}


def test_is_unexamined_where_no_model_is_fed_sequences():
    assert findings(EndNeverScored(), evidence_from(loss={"run": [1.0]})) == []
