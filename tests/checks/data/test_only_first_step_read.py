"""Sequences of which only the first step is read."""

from whyloss.checks.data.only_first_step_read import OnlyFirstStepRead
from whyloss.testing import check_contract, evidence_from, findings


def test_keeps_the_contract():
    check_contract(OnlyFirstStepRead)


def test_is_unexamined_without_a_symptom():
    assert any(need.lacking(evidence_from(input={"train.py:31": [{"between_samples": 0.4}]}), "main") for need in OnlyFirstStepRead.needs)


def test_leaves_the_decision_to_the_exact_test_on_copies():
    evidence = evidence_from(symptoms=[["plateau-high"]], input={"train.py:31": [{"between_samples": 0.4}]}, main_loss_place="train.py:49")

    found, = findings(OnlyFirstStepRead(), evidence)

    assert found.cause == "model-drops-information" and found.status == "suspected" and found.asks["unseen"]
    assert str(found.location) == "train.py:49" and found.explains == ("plateau-high",)
