"""Every cause has a check that names it and a patient that has it, or stands here with the reason why not."""

import json
from pathlib import Path

from whyloss.causes import CAUSES
from whyloss.checks import ALL

PATIENTS = Path(__file__).parent / "patients"
UNCHECKED = {
    "learning-rate-unsuited-to-part": "no check yet: needs an experiment with a rate for each part",
    "batch-too-small": "no check yet: the experiment larger-batch exists, nothing raises the suspicion",
}
WITHOUT_PATIENT = {
    **UNCHECKED,
    "parameters-unused": "a note: a layer that is built and never used does not keep the others from learning",
}


def accepted_by_patients() -> set[str]:
    manifests = [json.loads(f.read_text()) for f in PATIENTS.glob("*/patient.json") if (f.parent / "sick.py").exists()]
    return {cause for manifest in manifests for cause in manifest["accepted"]}


def test_each_cause_is_named_by_a_check():
    assert set(CAUSES) - {cause for check in ALL for cause in check.causes} == set(UNCHECKED)


def test_each_cause_has_a_patient_with_a_twin():
    assert set(CAUSES) - accepted_by_patients() <= set(WITHOUT_PATIENT)
    assert all((f.parent / "healthy.py").exists() for f in PATIENTS.glob("*/sick.py"))


def test_patients_accept_only_known_causes():
    assert accepted_by_patients() <= set(CAUSES)
