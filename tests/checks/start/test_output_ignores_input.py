"""Outputs that do not depend on the input."""

from whyloss.checks.start.output_ignores_input import OutputIgnoresInput
from whyloss.testing import check_contract, evidence_from, findings


def test_keeps_the_contract():
    check_contract(OutputIgnoresInput)


def test_leaves_the_decision_to_the_exact_test_on_copies():
    evidence = evidence_from(symptoms=[["flat-at-baseline"]], input={"train.py:31": [{"between_samples": 0.4}]})

    found, = findings(OutputIgnoresInput(), evidence)

    assert found.cause == "output-ignores-input" and found.status == "suspected" and found.asks == {"unseen": True}


def test_spares_inputs_that_are_all_the_same():
    evidence = evidence_from(symptoms=[["flat-at-baseline"]], input={"train.py:31": [{"between_samples": 0}]})

    assert findings(OutputIgnoresInput(), evidence) == []


def test_is_unexamined_in_a_training_that_learns():
    assert findings(OutputIgnoresInput(), evidence_from(input={"train.py:31": [{"between_samples": 0.4}]})) == []
