"""Loader workers that all draw the same."""

from whyloss.checks.data.worker_randomness import WorkerRandomness
from whyloss.testing import check_contract, evidence_from, findings

HELD = {"kind": "held", "name": "rng", "generator": "Generator", "workers": 4, "epochs": 10, "dataset": "NoisyScans"}
SEEDED = {"kind": "seeded", "name": "init", "generator": "numpy.random", "workers": 2, "epochs": 3, "dataset": "Crops"}


def judged(row):
    return findings(WorkerRandomness(), evidence_from(worker_randomness={"train.py:41": [row]}))


def test_keeps_the_contract():
    check_contract(WorkerRandomness)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(loss=[1.0]), "main") for need in WorkerRandomness.needs)


def test_names_the_generator_that_every_worker_copies():
    found, = judged(HELD)

    assert found.cause == "repeated-augmentation" and found.status == "proven" and found.step == 0
    assert str(found.location) == "train.py:41" and "NoisyScans.rng" in found.measured and "4 workers" in found.measured


def test_names_the_function_that_seeds_every_worker_alike():
    found, = judged(SEEDED)

    assert "init" in found.measured and "numpy.random" in found.measured
