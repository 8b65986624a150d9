"""The frames of many ranks become one run: norms of sharded parameters are added up, replicas are compared."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from whyloss.errors import LogUnreadable
from whyloss.sources.framefile import ABSENT
from whyloss.sources.frames import FrameLedger, ledger_file
from whyloss.sources.merging import merge

ROOT = Path(__file__).resolve().parent.parent.parent
SHARDED, WHOLE = "blocks.0.weight", "head.weight"
NORMS = ("grad_norm", "weight_norm", "update_ratio")
COLUMNS = [("loss", "run"), *[(q, name) for name in (SHARDED, WHOLE) for q in NORMS], ("activation_std", "head"), ("grad_norm", "run")]


def leave(folder, rank, world, frames, *, over="all", events=()):
    """One rank's ledger. frames: step -> the numbers"""
    with FrameLedger(ledger_file(folder, rank, world)) as ledger:
        ledger.columns(COLUMNS)
        ledger.observe("rank", {"rank": rank, "world": world})
        ledger.observe("sharded", {"over": over}, SHARDED)
        for step, values in frames.items():
            ledger.frame(step, np.array(values, np.float32), step)
        for step, message in events:
            ledger.event(step, "alert", {"message": message})


def numbers(loss=1.0, grad=3.0, weight=6.0, ratio=0.5, head=2.0, std=1.0):
    return loss, grad, weight, ratio, 5.0, head, 1e-3, std, 1.0


def test_partial_norms_give_the_exact_global_ones_and_losses_their_mean(tmp_path):
    leave(tmp_path, 0, 2, {0: numbers(loss=1.0, grad=3.0, weight=6.0, ratio=0.5), 4: numbers()})
    leave(tmp_path, 1, 2, {0: numbers(loss=3.0, grad=4.0, weight=8.0, ratio=0.5), 4: numbers(), 5: numbers()})
    merged = merge(tmp_path)

    assert merged.series("loss").steps == [0, 4] and merged.series("loss").values[0] == 2.0
    assert merged.series("grad_norm", SHARDED).values[0] == 5.0 and merged.series("weight_norm", SHARDED).values[0] == 10.0
    assert merged.series("update_ratio", SHARDED).values[0] == pytest.approx(0.5)   # |change| 3 and 4 of |weights| 6 and 8
    assert merged.series("grad_norm", WHOLE).values == [5.0, 5.0]
    assert merged.series("grad_norm").values[0] == pytest.approx(math.hypot(5.0, 5.0))   # not the 1.0 of a rank's own part
    assert merged.fact("ranks_merged") | {"absent": {}} == {"ranks": 2, "frames": 2, "absent": {}, "shortest": 0, "incomplete": []}


def test_a_replica_that_departs_is_named_with_its_step_rank_and_parameter(tmp_path):
    for rank in range(4):
        leave(tmp_path, rank, 4, {step: numbers(head=2.0 + (0.01 if rank == 2 and step >= 6 else 0.0)) for step in range(0, 10, 2)})
    apart = merge(tmp_path).series("ranks_apart", "weight_norm")

    first = next(o for o in apart if o.value["differ"])
    assert (first.step, first.value["rank"], first.value["parameter"], first.value["differ"]) == (6, 2, WHOLE, 1)
    assert first.value["apart"] == pytest.approx(0.01 / 2.01, rel=1e-3)
    assert not any(row["differ"] for row in merge(tmp_path).series("ranks_apart", "grad_norm").values)


def test_a_part_that_is_missing_leaves_no_norm_that_is_too_small(tmp_path):
    leave(tmp_path, 0, 3, {0: numbers()}), leave(tmp_path, 1, 3, {0: numbers()})
    merged = merge(tmp_path)

    assert merged.fact("ranks_merged")["incomplete"] == [SHARDED]
    assert not merged.series("grad_norm", SHARDED) and merged.series("grad_norm", WHOLE) and not merged.series("grad_norm")


def test_replicas_of_the_same_shards_are_added_once(tmp_path):
    for rank in range(4):
        leave(tmp_path, rank, 4, {0: numbers(grad=3.0 + rank % 2)}, over=[0, 1] if rank < 2 else [2, 3])

    assert merge(tmp_path).series("grad_norm", SHARDED).values == [5.0]


def test_what_a_rank_did_not_measure_is_no_zero(tmp_path):
    leave(tmp_path, 0, 2, {0: numbers(std=2.0), 1: numbers()}), leave(tmp_path, 1, 2, {0: numbers(std=ABSENT), 1: numbers(grad=ABSENT)})
    merged = merge(tmp_path)

    assert merged.series("activation_std", "head").values == [2.0, 1.0] and merged.series("grad_norm", SHARDED).steps == [0]


def test_fingerprints_beside_the_frames_are_compared_as_those_of_a_watched_run(tmp_path):
    fact = {"kind": "DDP", "group": [0, 1], "place": None, "hook": None, "syncs": 2, "bypassed": {}, "unsynced": 0, "by_hand": 0, "averaged": 0,
            "reduced": 2, "alone": 0, "names": ["fc.weight"], "trusted": True, "sampler": None}
    for rank in range(2):
        with FrameLedger(ledger_file(tmp_path, rank, 2)) as ledger:
            ledger.columns([("loss", "run")])
            ledger.observe("rank", {"rank": rank, "world": 2})
            ledger.observe("rank_replica", fact, "DDP")
            for step in range(2):
                ledger.observe("rank_weights", {"values": [1.0, 0.5, 0.5 + 0.1 * rank * step], "steps": step}, "DDP", step)
                ledger.frame(step, np.ones(1, np.float32), 0.0)
    rows = merge(tmp_path).series("ranks_weights", "DDP").values

    assert rows[0]["apart"] == 0.0 and rows[1]["apart"] > 0.05 and (rows[1]["rank"], rows[1]["parameter"]) == (1, "fc.weight")


@pytest.mark.parametrize("launches, compared", [(("a", "b"), 2), (("a",), None)], ids=["both-ranks-resumed", "one-rank-was-killed-before-it-wrote"])
def test_a_resumed_launch_is_compared_with_itself_and_not_with_the_one_before(tmp_path, launches, compared):
    fact = {"kind": "DDP", "group": [0, 1], "place": None, "hook": None, "syncs": 2, "bypassed": {}, "unsynced": 0, "by_hand": 0, "averaged": 0,
            "reduced": 2, "alone": 0, "names": ["fc.weight"], "trusted": True, "sampler": None}
    for rank, mine in enumerate((("a", "b"), launches)):
        for at, launch in enumerate(mine):
            with FrameLedger(ledger_file(tmp_path, rank, 2)) as ledger:
                ledger.columns([("loss", "run")])
                ledger.observe("rank", {"rank": rank, "world": 2, "launch": launch})
                ledger.observe("rank_replica", fact, "DDP")
                for step in range(2):  # each launch counts its backward passes anew
                    ledger.observe("rank_weights", {"values": [1.0, 0.5 + at, 0.5], "steps": step}, "DDP", step)
                    ledger.frame(2 * at + step, np.ones(1, np.float32), 0.0)
    rows = merge(tmp_path).series("ranks_weights", "DDP").values

    assert (len(rows) or None) == compared and not any(row["apart"] for row in rows)


def test_the_same_alert_of_several_ranks_is_one(tmp_path):
    for rank in range(3):
        leave(tmp_path, rank, 3, {0: numbers()}, events=[(0, "loss is not finite"), *([(0, "slow")] if rank == 1 else [])])
    alerts = {value["message"]: value["ranks"] for value in merge(tmp_path).series("alert").values}

    assert alerts == {"loss is not finite": [0, 1, 2], "slow": [1]}


def test_a_torn_ledger_is_told_and_the_others_are_merged(tmp_path):
    leave(tmp_path, 0, 2, {0: numbers()}), leave(tmp_path, 1, 2, {0: numbers()})
    file = ledger_file(tmp_path, 1, 2)
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * 20000)

    merged = merge(tmp_path)
    assert merged.fact("ranks_merged")["ranks"] == 1 and merged.series("loss").values == [1.0]


def test_a_folder_without_ledgers_is_an_error_that_says_so(tmp_path):
    with pytest.raises(LogUnreadable, match="no ledger of frames"):
        merge(tmp_path)


def test_the_bench_of_many_ranks_finds_what_it_put_in(tmp_path):
    spec = importlib.util.spec_from_file_location("ranks", ROOT / "bench" / "ranks.py")
    ranks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ranks)

    line = ranks.row(tmp_path / "8", 8, 6, 10)
    assert line.endswith("named") and "e+00" in line
