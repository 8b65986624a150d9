"""Replicas with different weights."""

import pytest

from whyloss.checks.distributed.ranks_diverge import RanksDiverge
from whyloss.testing import check_contract, evidence_from, findings


def replica(**changes):
    return {"kind": "DistributedDataParallel", "group": [0, 1, 2], "place": "train.py:30", "ranks": 3, "bypassed": {}, "unsynced": 0,
            "by_hand": 0, "averaged": 0, "distrusted": False, "most_alone": 0, "least_reduced": 160, "least_syncs": 160, "sampler": None} | changes


def rows(*distances, rates=(None, None)):
    return [{"ranks": 3, "apart": d, "differ": int(d > 0), "rank": 1, "from": 0, "steps": [0, 0], "rates": list(rates), "parameter": "fc.weight"}
            for d in distances]


def run(weights=(0.0, 0.02, 0.3), gradients=(0.0, 0.1, 0.2), at_step=(0.9, 0.9, 0.9), rates=(None, None), calls=None, **changes):
    name = "DistributedDataParallel"
    return evidence_from(ranks_replica={name: [replica(**changes)]}, ranks_weights={name: rows(*weights)}, ranks_gradients={name: rows(*gradients)},
                         ranks_step_gradients={name: rows(*at_step, rates=rates)},
                         ranks_calls=calls if calls is not None else {"clip train.py:41": [{"0": [0, 2], "160": [1]}]})


def test_keeps_the_contract():
    check_contract(RanksDiverge)


def test_is_unexamined_with_one_process():
    assert any(need.lacking(evidence_from(loss=[1.0] * 9), "main") for need in RanksDiverge.needs)


def test_names_what_one_rank_does_of_its_own():
    found, = findings(RanksDiverge(), run())

    assert found.cause == "ranks-diverge" and found.status == "proven" and str(found.location) == "train.py:41" and found.step == 1
    assert found.subject == "fc.weight" and "160 times on rank 1, 0 times on ranks 0, 2" in found.message


def test_names_a_learning_rate_of_its_own():
    found, = findings(RanksDiverge(), run(at_step=(0.0, 0.0, 0.0), rates=([0.1], [0.01]), calls={"schedule train.py:50": [{"0": [1, 2], "9": [0]}]}))

    assert "learning rates differ" in found.message and str(found.location) == "train.py:50"


def test_names_the_wrapper_where_weights_differ_from_the_start():
    found, = findings(RanksDiverge(), run(weights=(0.5, 0.5), calls={}))

    assert found.step == 0 and "start from different weights" in found.message and str(found.location) == "train.py:30"


@pytest.mark.parametrize("changes", [
    {"weights": (0.0, 0.0, 0.0)}, {"weights": (0.0, 3e-7, 2e-6)}, {"averaged": 4}, {"distrusted": True},
], ids=["equal", "another-order-of-additions", "local-sgd", "own-hook"])
def test_spares(changes):
    assert findings(RanksDiverge(), run(**changes)) == []
