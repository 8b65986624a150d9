"""Files of several ranks are read one after another; what they have in common and where they part becomes evidence."""

import os
import socket
import subprocess
import sys
import tracemalloc

import pytest

from whyloss.evidence import Evidence
from whyloss.sources.gather import Fold, gather, wait
from whyloss.sources.ledger import Ledger

GROUP = "DistributedDataParallel"


def leave(folder, rank, world=2, *, weights=(1.0, 0.5, 0.25), batch=0, loss=1.0, steps=6, calls=None, done=True, mean=0.0):
    """What a rank writes: equal weights until step 2, its own afterwards."""
    evidence = Evidence()
    evidence.add("rank_replica", {"kind": GROUP, "group": list(range(world)), "place": "train.py:3", "hook": None, "syncs": steps, "bypassed": {},
                                  "unsynced": 0, "by_hand": 0, "averaged": 0, "reduced": steps, "alone": 0, "names": ["fc.weight", "fc.bias"],
                                  "trusted": True, "sampler": None}, subject=GROUP)
    for n in range(steps):
        own = weights if n > 2 else (1.0, 0.5, 0.25)
        evidence.add("rank_weights", {"values": [*own, 2.0, 1.0, 1.0], "steps": n}, subject=GROUP, step=n)
        evidence.add("rank_batch", {"hash": batch * 100 + n, "rows": batch * 100 + n, "size": 4, "loss": loss}, subject=GROUP, step=n)
    for n in range(10):
        evidence.add("rank_statistics", {"size": 4, "mean": [mean + 0.01 * (-1) ** n, 0.0], "var": [1.0, 1.0]}, subject="bn", step=n)
    evidence.add("calls", calls or {"train.py:9": steps}, subject="clip")
    ledger = Ledger(folder, f"rank-{rank:05d}.db")
    ledger.write(evidence, Evidence())
    ledger.close()
    (folder / f"rank-{rank:05d}.pid").write_text(f"{socket.gethostname()} {os.getpid()} {world}")
    if done:
        (folder / f"rank-{rank:05d}.done").write_text("")


def told(folder, world=2, seconds=0.2):
    evidence = Evidence()
    evidence.add("rank", {"rank": 0, "world": world})
    gather(folder, evidence, seconds)
    return evidence


def test_equal_ranks_are_at_distance_zero_and_different_batches_are_told_apart(tmp_path):
    leave(tmp_path, 0), leave(tmp_path, 1, batch=7)
    merged = told(tmp_path)

    assert [row["apart"] for row in merged.series("ranks_weights", GROUP).values] == [0.0] * 6
    assert all(row["alike"] == 1 for row in merged.series("ranks_batch", GROUP).values)
    assert not merged.by_subject("ranks_calls") and merged.fact("ranks_heard")["heard"] == 2


def test_says_from_which_step_on_which_rank_which_parameter_and_which_line(tmp_path):
    leave(tmp_path, 0), leave(tmp_path, 1, weights=(1.0, 0.9, 0.1), calls={"train.py:9": 0, "train.py:11": 6})
    merged = told(tmp_path)

    rows = merged.series("ranks_weights", GROUP).values
    assert rows[2]["apart"] == 0.0 and rows[3]["apart"] > 0.05 and rows[3]["rank"] == 1 and rows[3]["parameter"] == "fc.weight"
    assert merged.fact("ranks_calls", "clip train.py:11") == {"0": [0], "6": [1]}
    assert all(row["which"] == [0, 1] for row in merged.series("ranks_batch", GROUP).values)


def test_statistics_that_differ_step_after_step_are_no_noise(tmp_path):
    leave(tmp_path, 0), leave(tmp_path, 1, mean=2.0)
    row = told(tmp_path).fact("ranks_statistics", "bn")

    assert row["effect"] > 0.5 and row["chance"] < 0.01 and row["share"] == 0.5


def test_a_rank_that_never_came_is_named_and_the_others_are_compared(tmp_path):
    leave(tmp_path, 0, 3), leave(tmp_path, 1, 3)
    heard = told(tmp_path, 3).fact("ranks_heard")

    assert heard["heard"] == 2 and "2" in heard["absent"]


def test_a_rank_whose_process_is_gone_is_not_waited_for_and_read_as_far_as_it_wrote(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    leave(tmp_path, 0), leave(tmp_path, 1, done=False)
    (tmp_path / "rank-00001.pid").write_text(f"{socket.gethostname()} {gone.pid} 2")
    merged = told(tmp_path, seconds=60)

    assert "ended without" in merged.fact("ranks_heard")["unfinished"]["1"] and merged.fact("ranks_heard")["heard"] == 2


def test_a_rank_that_goes_on_is_waited_for_no_longer_than_agreed(tmp_path):
    leave(tmp_path, 0), leave(tmp_path, 1, done=False)

    assert "had not ended" in wait(tmp_path, 2, 0.2)[1]


def test_a_torn_file_is_passed_over(tmp_path):
    leave(tmp_path, 0)
    (tmp_path / "rank-00001.db").write_bytes(b"SQLite format 3\0torn")
    merged = told(tmp_path)

    assert "cannot be read" in merged.fact("ranks_heard")["absent"]["1"] and not merged.has("ranks_weights")


def test_one_process_waits_for_nobody(tmp_path):
    assert not told(tmp_path, world=1).has("ranks_heard")


@pytest.mark.parametrize("many", [48])
def test_memory_does_not_grow_with_the_ranks(tmp_path, many):
    for rank in range(many):
        leave(tmp_path, rank, many, batch=rank)
    sizes = []
    for count in (many // 4, many):
        fold = Fold()
        tracemalloc.start()
        for rank in range(count):
            fold.read(rank, tmp_path / f"rank-{rank:05d}.db")
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sizes[1] < 1.5 * sizes[0] + 200_000
