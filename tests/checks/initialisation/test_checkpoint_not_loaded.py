"""Checkpoints that do not arrive."""

from whyloss.checks.initialisation.checkpoint_not_loaded import CheckpointNotLoaded
from whyloss.testing import check_contract, evidence_from, findings

NOTHING = {"module": "Net", "key": 7, "given": 4, "missing": 6, "unexpected": 4, "renamed": 4, "pair": ["module.body.weight", "body.weight"],
           "examples": [["body.weight"], ["module.body.weight"]]}
NEW_HEAD = NOTHING | {"given": 6, "missing": 2, "unexpected": 2, "renamed": 0, "pair": None, "examples": [["head.weight"], ["fc.weight"]]}


def test_keeps_the_contract():
    check_contract(CheckpointNotLoaded)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in CheckpointNotLoaded.needs)


def test_finds_keys_under_a_prefix():
    found, = findings(CheckpointNotLoaded(), evidence_from(loss=[1.0], state_loaded={"a.py:9": [NOTHING]}))

    assert found.cause == "pretrained-weights-not-loaded" and found.status == "proven" and found.step == 0
    assert str(found.location) == "a.py:9" and found.subject == "body.weight" and "0 of 4 keys" in found.measured


def test_spares_a_new_head():
    assert findings(CheckpointNotLoaded(), evidence_from(loss=[1.0], state_loaded={"a.py:9": [NEW_HEAD]})) == []


def test_spares_a_second_load_that_fits():
    good = NOTHING | {"given": 6, "missing": 0, "unexpected": 0, "renamed": 0, "pair": None}
    assert findings(CheckpointNotLoaded(), evidence_from(loss=[1.0], state_loaded={"a.py:9": [NOTHING], "a.py:12": [good]})) == []


def test_finds_weights_written_over_and_files_that_nobody_uses():
    written = {"module": "Net", "tensors": 3, "example": "fc.weight"}
    over, = findings(CheckpointNotLoaded(), evidence_from(loss=[1.0], state_overwritten={"a.py:9": [written]}))
    unused, = findings(CheckpointNotLoaded(), evidence_from(loss=[1.0], checkpoint_unused={"a.py:9": [{"tensors": 3, "example": "fc.weight"}]}))

    assert "written over" in over.message and "no model holds" in unused.message
