"""Raw inputs."""

from whyloss.checks.data.inputs_not_normalised import InputsNotNormalised
from whyloss.testing import check_contract, evidence_from, findings

ROW = {"shape": [40, 8], "mean": 0.0, "std": 1.0, "min": -3.0, "max": 3.0, "floating": True, "non_finite": 0, "between_samples": 0.9}


def batch(points=3, more=None, **changes):
    return evidence_from(input={"train.py:30": [ROW | changes] * points}, **{"loss": [2.3, 2.3, 2.3]} | (more or {}))


LEARNED = {"learned": [{"learned": True, "share": 0.9}]}


def test_keeps_the_contract():
    check_contract(InputsNotNormalised)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in InputsNotNormalised.needs)


def test_suspects_raw_pixels_in_a_run_that_does_not_learn():
    found, = findings(InputsNotNormalised(), batch(mean=78.0, std=96.0, max=255.0))

    assert found.cause == "inputs-not-normalised" and found.status == "suspected" and found.subject == "input"
    assert str(found.location) == "train.py:30" and found.step == 0


def test_is_stricter_where_the_loss_diverges():
    assert len(findings(InputsNotNormalised(), batch(mean=5.0, std=2.9, more={"loss": [5e4, 7e9, float("nan")]}))) == 1
    assert findings(InputsNotNormalised(), batch(mean=5.0, std=2.9)) == []


def test_spares_token_ids_and_trainings_that_learn():
    assert findings(InputsNotNormalised(), batch(mean=900.0, std=500.0, floating=False)) == []
    assert findings(InputsNotNormalised(), batch(mean=78.0, std=96.0, more=LEARNED)) == []
