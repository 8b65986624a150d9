"""Norms of weights that every rank holds whole."""

import pytest

from whyloss.checks.distributed.replicas_part import ReplicasPart
from whyloss.testing import check_contract, evidence_from, findings


def run(distances, kind=None):
    rows = [{"apart": d, "differ": int(d > 1e-5), "ranks": 3, "rank": 2, "parameter": "fc.weight" if d else None} for d in distances]
    facts = {"ranks_replica": {kind: [{"kind": kind, "ranks": 3}]}} if kind else {}
    return evidence_from(ranks_apart={"weight_norm": rows}, **facts)


PARTED = [0.0, 0.0, 2e-5, 1e-3, 2e-3, 4e-3, 6e-3, 8e-3, 0.01, 0.012]


def test_keeps_the_contract():
    check_contract(ReplicasPart)


def test_is_unexamined_with_one_process():
    assert any(need.lacking(evidence_from(loss=[1.0] * 9), "main") for need in ReplicasPart.needs)


def test_suspects_weights_that_part_for_good():
    found, = findings(ReplicasPart(), run(PARTED))

    assert found.cause == "ranks-diverge" and found.status == "suspected" and found.step == 2 and found.subject == "fc.weight"
    assert "0.012 (relative) at step 9 (rank 2), first at step 2" in found.measured


@pytest.mark.parametrize("evidence", [
    run([0.0] * 10), run([0.3] * 10), run([0.0, *[2e-3, 1.8e-3, 2.1e-3] * 3]), run([0.0, 0.01, 0.02, 0.03, 0.0] * 3), run([0.0, 1e-6] * 5),
    run([0.0, *[3e-5 * k for k in range(3)], *[9e-5] * 6]), run(PARTED[:6]), run(PARTED, kind="DistributedDataParallel"),
], ids=["equal", "different-models", "averaged-between-frames", "averaged-in-frames", "another-order", "within-tolerance", "too-short", "wrapped"])
def test_spares(evidence):
    assert findings(ReplicasPart(), evidence) == []
