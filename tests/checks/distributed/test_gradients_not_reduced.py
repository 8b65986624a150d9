"""Steps on gradients of one rank alone."""

import pytest

from whyloss.checks.distributed.gradients_not_reduced import GradientsNotReduced
from whyloss.testing import check_contract, evidence_from, findings


def replica(**changes):
    return {"kind": "DistributedDataParallel", "group": [0, 1], "place": "train.py:30", "ranks": 2, "bypassed": {"train.py:39": 320}, "unsynced": 0,
            "by_hand": 0, "averaged": 0, "distrusted": False, "most_alone": 160, "least_reduced": 0, "least_syncs": 0, "sampler": None} | changes


def apart(*distances):
    return [{"ranks": 2, "apart": d, "differ": int(d > 0), "rank": 1, "from": 0, "steps": [0, 0], "rates": [None, None], "parameter": "fc.weight"}
            for d in distances]


def run(name="DistributedDataParallel", alone=(0.0, 0.1, 0.3), weights=(), **changes):
    return evidence_from(ranks_replica={name: [replica(**changes)]}, ranks_alone={name: apart(*alone)}, ranks_weights={name: apart(*weights)},
                         calls={"step": [{"train.py:44": 160}]})


def test_keeps_the_contract():
    check_contract(GradientsNotReduced)


def test_is_unexamined_with_one_process():
    assert any(need.lacking(evidence_from(loss=[1.0] * 9), "main") for need in GradientsNotReduced.needs)


def test_names_the_line_that_goes_past_the_wrapper():
    found, = findings(GradientsNotReduced(), run())

    assert found.cause == "gradients-not-reduced" and found.status == "proven" and str(found.location) == "train.py:39"
    assert "160 optimizer steps" in found.measured and "0.3 (relative)" in found.measured


def test_names_no_sync_where_every_forward_ran_under_it():
    found, = findings(GradientsNotReduced(), run(bypassed={}, unsynced=320))

    assert "no_sync" in found.message


def test_finds_steps_inside_an_accumulation_window():
    assert findings(GradientsNotReduced(), run(bypassed={}, unsynced=240, least_reduced=40, most_alone=120, weights=(0.0, 0.02)))


@pytest.mark.parametrize("changes", [
    {"most_alone": 0, "least_reduced": 160, "bypassed": {}, "unsynced": 480},       # accumulation under no_sync, one step a window
    {"averaged": 20},                                                               # local SGD: weights averaged now and then
    {"distrusted": True},                                                           # a communication hook of the user's own
    {"most_alone": 3, "least_reduced": 157, "weights": (0.0, 0.0)},                 # replicas stayed the same
    {"name": "run", "kind": "by hand"},                                             # processes that share nothing, no sampler that says otherwise
], ids=["accumulation", "local-sgd", "own-hook", "equal", "apart-on-purpose"])
def test_spares(changes):
    assert findings(GradientsNotReduced(), run(**changes)) == []


def test_finds_a_training_that_was_never_wrapped_though_a_sampler_divides_its_data():
    found, = findings(GradientsNotReduced(), run("run", kind="by hand", sampler="DistributedSampler", bypassed={}))

    assert str(found.location) == "train.py:44" and "DistributedSampler" in found.message


def test_spares_members_of_an_ensemble_that_begin_with_weights_of_their_own():
    assert findings(GradientsNotReduced(), run("run", kind="by hand", sampler="DistributedSampler", bypassed={}, alone=(1.2, 1.3))) == []
