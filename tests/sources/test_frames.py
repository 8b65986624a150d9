"""One packed frame a sampled step: it comes back after a kill, while it is written, after a resume, and within a set size."""

import importlib.util
import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whyloss.sources import framefile
from whyloss.sources.framefile import ABSENT, FrameReader, last_frame, load, read_frames
from whyloss.sources.frames import FrameLedger, ledger_file

ROOT = Path(__file__).resolve().parent.parent.parent
COLUMNS = [("loss", "run"), ("grad_norm", "fc.weight"), ("dead_share", "relu")]


def row(*values):
    return np.array(values, np.float32)


def size_of(file):
    return sum(part.stat().st_size for part in file.parent.glob(file.name + "*"))


def test_frames_come_back_and_what_was_not_measured_is_no_nan(tmp_path):
    with FrameLedger(tmp_path / "run" / "frames.db") as ledger:
        ledger.columns(COLUMNS)
        ledger.frame(3, row(2.0, 0.5, ABSENT), 0.1)
        ledger.frame(5, row(math.nan, 0.25, 0.1), 0.2)
        ledger.columns([*COLUMNS, ("weight_norm", "fc.weight")])
        ledger.frame(8, row(1.0, math.inf, ABSENT, 7.0), 0.3)
        ledger.event(8, "alert", {"message": "gradient is infinite", "subject": "fc.weight"})
        ledger.observe("rank", {"rank": 0, "world": 1})

    evidence = read_frames(ledger.file)
    loss, dead = evidence.series("loss"), evidence.series("dead_share", "relu")
    assert ledger.problem is None and [p.name for p in (tmp_path / "run").iterdir()] == ["frames.db"]
    assert loss.steps == [3, 5, 8] and loss.first_non_finite() == 5 and (dead.steps, dead.values) == ([5], [pytest.approx(0.1)])
    assert evidence.series("grad_norm", "fc.weight").values == [0.5, 0.25, math.inf]
    assert evidence.series("weight_norm", "fc.weight").steps == [8] and evidence.fact("rank") == {"rank": 0, "world": 1}
    assert evidence.fact("alert", "fc.weight")["message"] == "gradient is infinite"
    assert last_frame(ledger.file)[:2] == (8, 0.3) and last_frame(ledger.file)[2][("weight_norm", "fc.weight")] == 7.0


def test_is_read_while_it_is_written(tmp_path):
    ledger = FrameLedger(tmp_path / "frames.db", seconds=1000)
    ledger.columns(COLUMNS)
    ledger.frame(0, row(1, 2, 3), 0.0)
    ledger.flush()
    reader = FrameReader(ledger.file)
    assert reader.new().steps.tolist() == [0] and len(reader.new()) == 0
    ledger.frame(1, row(4, 5, 6), 1.0)
    ledger.flush()
    ledger.event(1, "alert", {"message": "x"})

    new = reader.new()
    assert new.steps.tolist() == [1] and new.values.tolist() == [[4, 5, 6]]
    assert [e["kind"] for e in reader.events()] == ["alert"] and reader.events() == []
    ledger.close()


def test_frames_that_come_slowly_are_written_at_once_and_fast_ones_together(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("whyloss.sources.frames.time.monotonic", lambda: clock[0])
    ledger = FrameLedger(tmp_path / "frames.db")
    ledger.columns(COLUMNS)

    def after(gap, step):
        clock[0] += gap
        ledger.frame(step, row(1, 2, 3), clock[0])
        return last_frame(ledger.file)[0]

    assert after(0.0, 0) == 0 and after(2.0, 1) == 1 and after(2.0, 2) == 2
    assert [after(0.01, step) for step in (3, 4)] == [2, 2]
    held = [after(0.01, step) for step in range(5, 300)]
    assert max(step - at for step, at in zip(range(5, 300), held)) < 100  # never more than a second of them
    clock[0] += 0.8
    ledger.tick()
    assert last_frame(ledger.file)[0] == 299


def declared(file, columns=1000, limit=2 * 2**20):
    ledger = FrameLedger(file, size_limit=limit)
    ledger.columns([("loss", "run"), *[("grad_norm", f"layers.{i}.weight") for i in range(columns - 1)]])
    return ledger


def filled(ledger, frames, *, stride, event=None):
    """A long run in fewer frames. -> the largest size on disk"""
    largest, values = 0, np.ones(1000, np.float32)
    for at in range(frames):
        values[0] = 1 + 1 / (1 + at) + (40.0 if at == 777 else 0.0)
        values[17] = 1e-9 if at == 1001 else 1.0
        values[18] = math.nan if at == 1002 else 1.0
        ledger.frame(at * stride, values, at)
        if at == event:
            ledger.event(at * stride, "alert", {"message": "here"})
        if at % 100 == 0:
            largest = max(largest, size_of(ledger.file))
    return max(largest, size_of(ledger.file))


def test_ten_million_steps_of_a_thousand_parameters_stay_within_the_set_size(tmp_path):
    ledger = declared(tmp_path / "frames.db")
    largest = filled(ledger, 2500, stride=4000, event=1500)
    ledger.close()

    assert ledger.problem is None and largest <= 2 * 2**20
    steps = load(ledger.file, quantities=["loss"]).steps
    assert steps[0] == 0 and steps[-1] == 2499 * 4000 and len(steps) > 100
    assert set(range(1499 * 4000, 1502 * 4000, 4000)) <= set(steps.tolist())      # around the event nothing is thinned
    assert np.diff(steps).max() <= 10_000_000 / 30                                # and nowhere is a hole
    evidence = read_frames(ledger.file)
    loss = evidence.series("loss")
    assert max(loss.values) > 40 and 777 * 4000 in loss.steps and 777 * 4000 in steps
    smallest, broken = (evidence.series("grad_norm", f"layers.{i}.weight") for i in (16, 17))
    assert smallest.at(1001 * 4000) == pytest.approx(1e-9) and broken.first_non_finite() == 1002 * 4000
    assert broken.steps == sorted(broken.steps)


def test_a_program_that_reads_without_end_does_not_let_it_outgrow_its_size(tmp_path):
    file = tmp_path / "frames.db"
    ledger = declared(file)
    filled(ledger, 10, stride=0)
    ledger.flush()
    base = sqlite3.connect(file)
    base.execute("BEGIN")
    base.execute("SELECT count(*) FROM frame").fetchone()
    largest = filled(ledger, 3000, stride=1)

    assert ledger.problem is None and ledger.held_back > 0 and largest <= 2 * 2**20
    base.close()
    ledger.frame(5000, np.ones(1000, np.float32), 1.0)
    ledger.close()
    assert last_frame(file)[0] == 5000


def test_a_resumed_run_continues_and_what_is_taken_again_is_marked(tmp_path):
    file = tmp_path / "frames.db"
    for first, value, columns in ((0, 1.0, COLUMNS), (6, 2.0, COLUMNS[::-1])):
        with FrameLedger(file) as ledger:
            ledger.columns(columns)
            for step in range(first, first + 10):
                ledger.frame(step, row(*(value if q == "loss" else 0.0 for q, _ in columns)), step)

    evidence = read_frames(file)
    assert evidence.series("loss").steps == list(range(16))
    assert evidence.series("loss").values == [1.0] * 6 + [2.0] * 10
    assert evidence.series("loss", run="main/before-1").steps == [6, 7, 8, 9]
    assert evidence.fact("resumed")["back"] == 4 and "taken again" in evidence.fact("resumed")["message"]
    assert [part.closed for part in framefile.parts_of(file)] == [True, True]


def test_a_loop_that_goes_back_by_itself_is_marked_too(tmp_path):
    with FrameLedger(tmp_path / "frames.db") as ledger:
        ledger.columns(COLUMNS)
        for step in (0, 1, 2, 3, 1, 2):
            ledger.frame(step, row(step, 0, 0), 0)

    evidence = read_frames(ledger.file)
    assert evidence.series("loss").steps == [0, 1, 2] and evidence.series("loss", run="main/before-1").steps == [1, 2, 3]
    assert evidence.fact("went-back")["after"] == 3


@pytest.mark.parametrize("make", ["folder", "no database", "newer", "under a file"])
def test_a_store_that_fails_is_told_once_and_never_raises(tmp_path, make):
    file = tmp_path / "frames.db"
    if make == "folder":
        file.mkdir()
    elif make == "no database":
        file.write_bytes(b"this is no database" * 100)
    elif make == "newer":
        with sqlite3.connect(file) as base:
            base.executescript(framefile.TABLES + "INSERT INTO meta VALUES ('frames', '99');")
        base.close()
    else:
        (tmp_path / "run").write_text("a file")
        file = tmp_path / "run" / "frames.db"
    with FrameLedger(file) as ledger:
        ledger.columns(COLUMNS)
        for step in range(10):
            ledger.frame(step, row(1, 2, 3), step)
            ledger.event(step, "alert", {})
        ledger.tick()

    assert ledger.problem.startswith(f"the ledger {file} is no longer written: ") and ledger.problem.endswith("the training goes on without it")


_FULL = """
import resource, sys
import numpy as np
from whyloss.sources.frames import FrameLedger
from whyloss.sources.framefile import load
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
ledger = FrameLedger(sys.argv[1])
ledger.columns([("loss", str(i)) for i in range(1000)])
for step in range(500):
    ledger.frame(step, np.full(1000, step, np.float32), step)
    ledger.flush()
print(ledger.problem)
ledger.close()
print(len(load(sys.argv[1])))
"""


def test_a_full_disk_ends_the_ledger_and_not_the_training_and_what_was_written_can_be_read(tmp_path):
    done = subprocess.run([sys.executable, "-c", _FULL, str(tmp_path / "frames.db")], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src")})

    problem, frames = done.stdout.strip().splitlines()
    assert done.returncode == 0 and done.stderr == "" and "no longer written" in problem and int(frames) > 10


def test_numbers_that_cannot_fit_are_refused_with_the_size_that_would_do(tmp_path):
    ledger = FrameLedger(tmp_path / "frames.db", size_limit=2**20)
    ledger.columns([("grad_norm", str(i)) for i in range(50_000)])

    assert "need a size limit of" in ledger.problem


def test_a_second_process_on_the_same_file_writes_beside_it_and_a_child_writes_nothing(tmp_path):
    file = tmp_path / "frames.db"
    ledger = FrameLedger(file, seconds=1000)
    ledger.columns(COLUMNS)
    ledger.frame(0, row(1, 2, 3), 0)
    ledger.flush()
    code = ("import sys; from whyloss.sources.frames import FrameLedger\nledger = FrameLedger(sys.argv[1]); ledger.event(0, 'x', {})\n"
            "print(ledger.problem, ledger.beside, ledger.file)")
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    problem, *said, aside = done.stdout.split()
    assert problem == "None" and " ".join(said) == f"process {os.getpid()} writes {tmp_path}"
    assert aside.startswith(f"{tmp_path}/process-") and aside.endswith("/frames.db")

    child = os.fork()
    if child == 0:
        ledger.frame(1, row(1, 2, 3), 0)
        ledger.flush()
        os._exit(0)
    os.waitpid(child, 0)
    ledger.frame(2, row(1, 2, 3), 0)
    ledger.close()
    assert load(file).steps.tolist() == [0, 2]


def test_a_run_begun_again_in_the_same_process_takes_the_file_over(tmp_path):
    first, second = FrameLedger(tmp_path / "frames.db"), FrameLedger(tmp_path / "frames.db")
    for ledger, step in ((first, 0), (second, 1), (first, 2), (second, 3)):
        ledger.columns(COLUMNS)
        ledger.frame(step, row(1, 2, 3), 0)
        ledger.flush()
    second.close()

    assert "taken it over" in first.problem and second.problem is None and load(second.file).steps.tolist() == [0, 1, 3]


def test_a_busy_file_is_written_later(tmp_path):
    file = tmp_path / "frames.db"
    ledger = FrameLedger(file, seconds=1000)
    ledger.columns(COLUMNS)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ledger.frame(0, row(1, 2, 3), 0)
    ledger.flush()
    assert ledger.problem is None and len(load(file)) == 0
    other.execute("ROLLBACK")
    ledger.close()
    other.close()
    assert load(file).steps.tolist() == [0]


def test_a_ledger_at_an_address_is_copied_there_and_continued_from_there():
    fsspec = pytest.importorskip("fsspec")
    address = "memory://runs/a/frames.db"
    for first in (0, 5):
        with FrameLedger(address) as ledger:
            ledger.columns(COLUMNS)
            for step in range(first, first + 5):
                ledger.frame(step, row(step, 0, 0), step)
        assert ledger.problem is None and not ledger.file.exists()

    system = fsspec.filesystem("memory")
    assert [name.rsplit("/", 1)[-1] for name in system.ls("/runs/a", detail=False)] == ["frames.db"]
    copy = ledger.file.parent.with_suffix(".copy")
    system.get_file("/runs/a/frames.db", str(copy))
    assert read_frames(copy).series("loss").steps == list(range(10))
    copy.unlink()
    system.rm("/runs", recursive=True)


def test_an_address_that_cannot_be_reached_is_told(tmp_path):
    pytest.importorskip("fsspec")
    with FrameLedger("nosuchstore://bucket/frames.db") as ledger:
        ledger.columns(COLUMNS)
        ledger.frame(0, row(1, 2, 3), 0)

    assert "nosuchstore://bucket/frames.db" in ledger.problem and "cannot be reached" in ledger.problem
    assert not ledger.file.parent.exists()


def test_it_is_copied_while_the_run_goes_on_and_a_store_that_fails_is_told_with_the_place_of_what_was_written(monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setattr("whyloss.sources.elsewhere.SECONDS", 0.0)
    system = fsspec.filesystem("memory")
    ledger = FrameLedger("memory://runs/b/frames.db")
    ledger.mirror.next = 0.0
    ledger.columns(COLUMNS)
    ledger.frame(0, row(1, 2, 3), 0)
    ledger.flush()
    assert system.exists("/runs/b/frames.db") and ledger.problem is None

    monkeypatch.setattr(type(system), "put_file", lambda *a, **k: (_ for _ in ()).throw(PermissionError("denied")))
    for step in range(1, 5):
        ledger.mirror.next = 0.0
        ledger.frame(step, row(1, 2, 3), step)
        ledger.flush()
    assert "memory://runs/b/frames.db is no longer written: it cannot be copied there (denied)" in ledger.problem
    assert str(ledger.file) in ledger.problem
    assert load(ledger.file).steps.tolist() == [0, 1, 2, 3] and len(system.cat_file("/runs/b/frames.db")) > 0
    shutil.rmtree(ledger.file.parent)
    system.rm("/runs", recursive=True)


def test_one_file_a_rank():
    assert ledger_file("runs/a").name == "frames.db" and ledger_file("runs/a", 3, 8).name == "frames-rank-00003.db"
    assert ledger_file("s3://bucket/a/", 3, 8) == "s3://bucket/a/frames-rank-00003.db"


def test_a_log_without_write_access_beside_it_is_read_to_its_end(tmp_path, monkeypatch):
    ledger = FrameLedger(tmp_path / "frames.db")
    ledger.columns(COLUMNS)
    ledger.frame(4, row(1, 2, 3), 0)
    ledger.flush()
    whole = framefile._connect

    def denied(file, mode="ro"):
        if mode == "ro":
            raise sqlite3.OperationalError("unable to open database file")
        return whole(file, mode)

    monkeypatch.setattr(framefile, "_connect", denied)
    assert last_frame(ledger.file)[0] == 4
    ledger.close()


def test_killed_at_random_moments_every_ledger_is_readable_and_whole():
    spec = importlib.util.spec_from_file_location("kills", ROOT / "bench" / "kills.py")
    kills = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kills)

    found = kills.series(5, seed=random.randrange(10**6), longest=0.6)
    assert all(one["readable"] and math.isfinite(one["lost"]) for rows in found.values() for one in rows), json.dumps(found)
