"""Constant inputs."""

from whyloss.checks.data.constant_inputs import ConstantInputs
from whyloss.testing import check_contract, evidence_from, findings

ROW = {"shape": [40, 8], "mean": 0.0, "std": 1.0, "min": -3.0, "max": 3.0, "floating": True, "non_finite": 0, "between_samples": 0.9}


def batch(points=3, more=None, **changes):
    return evidence_from(input={"train.py:30": [ROW | changes] * points}, **{"loss": [2.3, 2.3, 2.3]} | (more or {}))


LEARNED = {"learned": [{"learned": True, "share": 0.9}]}


def test_keeps_the_contract():
    check_contract(ConstantInputs)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ConstantInputs.needs)


def test_finds_inputs_that_are_all_zero():
    found, = findings(ConstantInputs(), batch(between_samples=0.0, min=0.0, max=0.0))

    assert found.cause == "constant-inputs" and found.status == "proven" and found.subject == "input"
    assert str(found.location) == "train.py:30" and found.step == 0 and "all 0" in found.measured


def test_spares_inputs_that_vary_little():
    assert findings(ConstantInputs(), batch(between_samples=1e-9)) == []


def test_spares_a_learning_model_with_a_constant_first_argument():
    assert findings(ConstantInputs(), batch(between_samples=0.0, more=LEARNED)) == []
