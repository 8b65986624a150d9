"""A re-entrant checkpoint without an input that wants a gradient."""

from whyloss.checks.wiring.checkpoint_without_gradient import CheckpointWithoutGradient
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(lost, calls=12):
    return evidence_from(parameter={"head.weight": parameter(), "block.a": parameter(reached=not lost, changed=not lost)},
                         optimizer={"AdamW": {"stepped": True}}, checkpoint_without_gradient={"train.py:47": [1] * calls})


def test_keeps_the_contract():
    check_contract(CheckpointWithoutGradient)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in CheckpointWithoutGradient.needs)


def test_names_the_checkpoint_and_the_layers_inside():
    found, = findings(CheckpointWithoutGradient(), loop(lost=True))

    assert found.cause == "checkpoint-cuts-gradient" and found.status == "proven"
    assert found.subject == "block" and str(found.location) == "train.py:47"


def test_spares_a_checkpoint_around_layers_that_are_frozen():
    assert findings(CheckpointWithoutGradient(), loop(lost=False)) == []


def test_spares_a_single_call():
    assert findings(CheckpointWithoutGradient(), loop(lost=True, calls=1)) == []
