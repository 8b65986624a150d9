"""Batch norm over two values says nothing about the input."""

from whyloss.checks.initialisation.small_batch_norm import SmallBatchNorm
from whyloss.testing import evidence_from, findings


def evidence(shape, **more):
    return evidence_from(layer={"bn": [{"kind": "BatchNorm1d", "in": shape, "out": shape}]}, mode_in_loss={"bn": [True]},
                         root={"train.py:9": [{}]}, **more)


def test_suspects_two_samples_a_channel():
    found = findings(SmallBatchNorm(), evidence("(2, 64)", symptoms=[["plateau-high"]]))
    assert [(f.cause, f.subject) for f in found] == [("batch-statistics-unreliable", "bn")]
    assert "2 values" in found[0].measured


def test_spares_two_images_with_many_positions_and_large_batches():
    assert findings(SmallBatchNorm(), evidence("(2, 64, 8, 8)", symptoms=[["plateau-high"]])) == []
    assert findings(SmallBatchNorm(), evidence("(64, 64)", symptoms=[["plateau-high"]])) == []


def test_is_unexamined_when_the_training_learns():
    assert findings(SmallBatchNorm(), evidence("(2, 64)")) == []
