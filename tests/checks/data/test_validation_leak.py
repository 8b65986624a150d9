"""Training rows in validation."""

from whyloss.checks.data.validation_leak import ValidationLeak
from whyloss.testing import check_contract, evidence_from, findings

ROW = {"shape": [40, 8], "mean": 0.0, "std": 1.0, "min": -3.0, "max": 3.0, "floating": True, "non_finite": 0, "between_samples": 0.9}


def batch(points=3, more=None, **changes):
    return evidence_from(input={"train.py:30": [ROW | changes] * points}, **{"loss": [2.3, 2.3, 2.3]} | (more or {}))


LEARNED = {"learned": [{"learned": True, "share": 0.9}]}


def phase(rows, known, trained, scored="train.py:45"):
    return batch(more={"evaluation_inputs": {"train.py:45": {432: {"rows": rows, "in_training": known, "distinct_training": trained}}},
                       "scored_call": {scored: [{"calls": 3}]}})


def test_keeps_the_contract():
    check_contract(ValidationLeak)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ValidationLeak.needs)


def test_proves_a_small_evaluation_set_that_was_trained_on():
    found, = findings(ValidationLeak(), phase(400, 383, 635))

    assert found.cause == "validation-leak" and found.status == "proven" and found.subject == "validation split"
    assert str(found.location) == "train.py:45" and found.step == 432


def test_spares_an_evaluation_of_the_training_set():
    assert findings(ValidationLeak(), phase(178, 178, 178)) == []
    assert findings(ValidationLeak(), phase(812, 512, 560)) == []
    assert findings(ValidationLeak(), phase(512, 407, 2281)) == []


def test_spares_states_that_an_agent_meets_again():
    assert findings(ValidationLeak(), phase(400, 383, 635, scored="train.py:80")) == []


def test_spares_no_overlap_and_single_duplicates():
    assert findings(ValidationLeak(), phase(400, 0, 635)) == []
    assert findings(ValidationLeak(), phase(400, 3, 635)) == []
