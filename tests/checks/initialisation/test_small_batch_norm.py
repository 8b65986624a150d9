"""Batch norm over two values says nothing about the input."""

from whyloss.checks.initialisation.small_batch_norm import SmallBatchNorm
from whyloss.testing import evidence_from, findings


def evidence(values, shape, **more):
    return evidence_from(batch_norm={"bn": [{"values": values, "shape": shape, "place": "net.py:9"}]}, **more)


def test_suspects_two_samples_a_channel():
    found, = findings(SmallBatchNorm(), evidence(2, [2, 64], learned=[{"learned": False, "share": 0.1}]))

    assert (found.cause, found.subject, found.step, str(found.location)) == ("batch-statistics-unreliable", "bn", 0, "net.py:9")
    assert "2 values" in found.measured


def test_spares_two_images_with_many_positions_and_large_batches():
    assert findings(SmallBatchNorm(), evidence(128, [2, 64, 8, 8], learned=[{"learned": False, "share": 0.1}])) == []
    assert findings(SmallBatchNorm(), evidence(64, [64, 64], learned=[{"learned": False, "share": 0.1}])) == []


def test_leaves_it_to_the_experiment_in_a_training_that_learned_in_part_and_is_silent_in_one_that_went_well():
    found, = findings(SmallBatchNorm(), evidence(2, [2, 64], learned=[{"learned": True, "share": 0.4}]))

    assert found.asks == {"unseen": True}
    assert findings(SmallBatchNorm(), evidence(2, [2, 64], learned=[{"learned": True, "share": 0.95}])) == []


def test_is_unexamined_without_progress():
    assert findings(SmallBatchNorm(), evidence(2, [2, 64])) == []
