"""NaN in the batch."""

from whyloss.checks.data.non_finite_inputs import NonFiniteInputs
from whyloss.testing import check_contract, evidence_from, findings

ROW = {"shape": [40, 8], "mean": 0.0, "std": 1.0, "min": -3.0, "max": 3.0, "floating": True, "non_finite": 0, "between_samples": 0.9}


def batch(points=3, more=None, **changes):
    return evidence_from(input={"train.py:30": [ROW | changes] * points}, **{"loss": [2.3, 2.3, 2.3]} | (more or {}))


LEARNED = {"learned": [{"learned": True, "share": 0.9}]}


def test_keeps_the_contract():
    check_contract(NonFiniteInputs)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in NonFiniteInputs.needs)


def test_finds_the_column():
    evidence = batch(non_finite=1, non_finite_columns=[4], more={"first_non_finite": [{"kind": "input", "phase": "forward", "step": 0}]})
    found, = findings(NonFiniteInputs(), evidence)

    assert found.cause == "non-finite-inputs" and found.status == "proven" and found.subject == "input (column 4)"
    assert str(found.location) == "train.py:30" and found.step == 0


def test_explains_whole_columns():
    evidence = batch(non_finite=80, non_finite_columns=[0, 3], more={"first_non_finite": [{"kind": "input", "phase": "forward", "step": 0}]})

    assert "standard deviation of 0" in findings(NonFiniteInputs(), evidence)[0].message


def test_spares_missing_values_that_are_masked():
    assert findings(NonFiniteInputs(), batch(non_finite=5)) == []
    assert findings(NonFiniteInputs(), batch(non_finite=5, more={"first_non_finite": [{"kind": "log-of-zero", "phase": "forward", "step": 9}]})) == []
