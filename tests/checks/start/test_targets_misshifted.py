"""Targets that are not one token after the inputs."""

from whyloss.checks.start.targets_misshifted import TargetsMisshifted
from whyloss.testing import check_contract, evidence_from, findings


def test_keeps_the_contract():
    check_contract(TargetsMisshifted)


def test_leaves_the_decision_to_the_exact_test_on_a_copy():
    evidence = evidence_from(sequence_input={"train.py:30": [{"shape": [16, 20]}]}, loss={"run": [3.0]}, loss_call={"train.py:29": [{}]})

    found, = findings(TargetsMisshifted(), evidence)

    assert found.cause == "targets-misshifted" and found.status == "suspected" and found.subject == "targets"
    assert found.asks == {"unseen": True} and str(found.location) == "train.py:29"


def test_is_unexamined_where_no_model_is_fed_sequences():
    assert findings(TargetsMisshifted(), evidence_from(loss={"run": [1.0]})) == []
