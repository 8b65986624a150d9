"""Following a ledger: what is shown is what the ledger holds, whatever happens to it meanwhile."""

import contextlib
import json
import math
import os
import random
import shutil
import socket
import sqlite3
import time

import numpy as np
import pytest
from written import EVIL, LAYERS, gradient, loss, numbers, run, tell, until, writing

from whyloss.live import condition as conditions
from whyloss.live.condition import Condition, condition, together
from whyloss.live.course import POINTS, Course, Rows
from whyloss.live.find import Finder, Place
from whyloss.live.follow import OneFile, Ranks, follow
from whyloss.live.watch import Watch
from whyloss.sources import framefile
from whyloss.sources.framefile import Part


def following(folder):
    (place,) = Finder([folder]).look()
    found = follow(place)
    found.look()
    return found


def grid(followed, quantity):
    return next((grid for grid in followed.grids() if grid.quantity == quantity), None)


def look_at(*paths):
    """A watch that has read everything."""
    watch = Watch(paths)
    while watch.look():
        pass
    return watch


# ---------------------------------------------------------------------- one ledger
def test_what_is_shown_is_what_the_ledger_holds(tmp_path):
    run(tmp_path)
    followed = following(tmp_path)

    assert followed.step == 39 and followed.loss.steps == list(range(40))
    assert followed.loss.values == pytest.approx([loss(step) for step in range(40)], rel=1e-6)
    norms = grid(followed, "grad_norm")
    assert norms.subjects == tuple(f"{name}.weight" for name in LAYERS) and norms.steps == tuple(range(40))
    assert norms.values[2][10] == pytest.approx(gradient(2, 10))
    assert grid(followed, "dead_share").subjects == ("layers.0:relu", "layers.1:relu", "layers.2:relu")


def test_only_what_is_new_is_read_and_the_end_is_the_same(tmp_path):
    ledger = run(tmp_path, close=False)
    followed, version = following(tmp_path), 0
    for first in (40, 80, 400, 2000):
        version = followed.version
        assert not followed.look()
        for step in range(first, first + 40):
            ledger.frame(step, numbers(step), step / 10)
        ledger.flush()
        assert followed.look() and followed.version > version
    ledger.close()
    followed.look()

    whole = following(tmp_path)
    assert followed.condition.kind == "finished" and followed.loss.steps == whole.loss.steps and followed.loss.values == whole.loss.values
    assert grid(followed, "grad_norm").steps[-1] == 2039


def test_steps_that_are_taken_again_replace_the_earlier_ones(tmp_path):
    ledger = run(tmp_path, close=False)
    followed = following(tmp_path)
    for step in range(20, 30):
        values = numbers(step)
        values[0] = 7.0
        ledger.frame(step, values, step)
    ledger.close()

    assert followed.look() and followed.loss.steps == list(range(30)) and followed.loss.values[20:] == [7.0] * 10
    assert [event["kind"] for event in followed.told()] == ["went-back"]


def test_another_run_in_the_same_file_begins_anew(tmp_path):
    run(tmp_path)
    followed = following(tmp_path)
    (tmp_path / "frames.db").unlink()
    run(tmp_path, steps=range(5))

    assert followed.look() and followed.loss.steps == list(range(5)) and grid(followed, "weight_norm").steps == tuple(range(5))


def test_a_column_that_comes_later_is_absent_before(tmp_path):
    ledger = run(tmp_path, close=False)
    followed = following(tmp_path)
    ledger.columns([("grad_norm", "late.weight")])
    ledger.frame(40, np.append(numbers(40), np.float32(5.0)), 4.0)
    ledger.observe("val_loss", 1.5, step=40)
    ledger.close()
    followed.look()

    norms = grid(followed, "grad_norm")
    assert norms.subjects[-1] == "late.weight" and norms.values[-1][-1] == 5.0 and set(norms.values[-1][:-1]) == {None}
    assert grid(followed, "val_loss").values == ((1.5,),)


def test_a_long_run_stays_small_and_keeps_its_spikes():
    course, rows = Course(), Rows()
    for first in range(0, 100_000, 50):
        steps = np.arange(first, first + 50)
        values = np.ones(50)
        values[steps == 4_321] = 99.0
        values[steps == 70_000] = math.nan
        course.add(steps, values)
        rows.add([("grad_norm", "a"), ("grad_norm", "b")], steps, np.ones((50, 2), np.float32))

    assert len(course) <= 2 * POINTS and 99.0 in course.values and any(math.isnan(value) for value in course.values)
    assert course.steps[0] == 0 and course.steps[-1] == 99_999 and sorted(set(course.steps)) == course.steps
    table = rows.grids(("grad_norm",))[0]
    assert len(table.steps) <= 60 and table.steps[0] == 0 and table.steps[-1] == 99_999


# ---------------------------------------------------------------------- several
def test_ranks_are_shown_together(tmp_path):
    for rank in range(2):
        run(tmp_path / "two", rank=rank, world=2, close=False, alert=20)
    followed = following(tmp_path)

    assert isinstance(followed, Ranks) and followed.step == 39 and followed.loss.values[5] == pytest.approx(loss(5), rel=1e-6)
    assert grid(followed, "grad_norm").values[1][0] == pytest.approx(gradient(1, 0))
    assert [event["data"]["ranks"] for event in followed.told()] == [[0, 1]] and not followed.told()
    assert followed.condition.kind == "running"


def test_a_rank_that_appears_later_joins(tmp_path):
    run(tmp_path / "two", rank=0, world=2, close=False)
    watch = look_at(tmp_path)
    (one,) = watch.runs.values()
    run(tmp_path / "two", rank=1, world=2, close=False)
    watch.finder.next = 0.0
    watch.look()

    (other,) = watch.runs.values()
    assert isinstance(one, OneFile) and isinstance(other, Ranks) and len(other.place.files) == 2 and other.version > one.version


def test_runs_are_found_below_a_folder_named_and_in_order(tmp_path):
    for name in ("b/deep/er", "a", "c"):
        run(tmp_path / name, steps=range(3))
    (tmp_path / "c" / "other.db").write_bytes(b"of another program")
    finder = Finder([tmp_path])

    assert [place.name for place in finder.look()] == ["a", "b/deep/er", "c"] and finder.notes == []
    assert [place.name for place in Finder([tmp_path / "a", tmp_path / "b"]).look()] == ["a", "b/deep/er"]
    assert [place.name for place in Finder([tmp_path / "a" / "frames.db"]).look()] == ["frames.db"]


def test_a_run_that_begins_later_and_one_that_goes_are_noticed(tmp_path):
    watch = look_at(tmp_path / "runs")
    assert not watch.rows and "nothing there yet" in watch.notes[0]
    run(tmp_path / "runs" / "a", steps=range(3))
    watch.finder.next = 0.0
    watch.look()
    assert [one.place.name for one in watch.runs.values()] == ["a"] and watch.notes == [] and len(watch.rows) == 1
    (tmp_path / "runs" / "a" / "frames.db").unlink()
    watch.finder.next = 0.0
    seen = {}
    watch.news(seen)
    watch.look()
    assert not watch.rows and '"gone":["' in watch.news(seen)


# ---------------------------------------------------------------------- what is broken
@pytest.mark.parametrize("content", [b"no database" * 200, b"SQLite format 3\0" + bytes(5000)])
def test_a_broken_ledger_is_a_message_and_the_others_are_shown(tmp_path, content):
    run(tmp_path / "good", steps=range(3))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "frames.db").write_bytes(content)
    watch = look_at(tmp_path)

    rows = {run.place.name: text for run in watch.runs.values() for text in [watch.rows[run.place.id][1]]}
    assert '"kind":"broken"' in rows["bad"] and "cannot be read" in rows["bad"] and '"kind":"finished"' in rows["good"]
    assert watch.pictures(next(one for one in watch.runs if watch.runs[one].place.name == "bad")) is not None


def test_a_ledger_with_nonsense_inside_is_a_message(tmp_path):
    run(tmp_path, steps=range(3))
    base = sqlite3.connect(tmp_path / "frames.db")
    with base:
        base.execute("UPDATE part SET writer = 'x'")
    base.close()
    followed = following(tmp_path)

    assert followed.problem.startswith("cannot be read") and not followed.grids()


TABLES = {"event": ("part", "step", "kind", "unix", "data"), "part": ("run", "first", "began", "wrote", "writer"), "slot": ("quantity", "subject"),
          "frame": ("part", "step", "seconds", "numbers"), "observation": ("quantity", "subject", "step", "value")}


@pytest.mark.parametrize("value", [None, "text", -5, 1e300, b"\xff\xfe", 2**62, "[1]", "{}"], ids=repr)
def test_whatever_stands_in_a_ledger_the_page_goes_on(tmp_path, value):
    run(tmp_path / "source", alert=10)
    for table, columns in TABLES.items():
        for column in columns:
            folder = tmp_path / "runs" / f"{table}-{column}"
            folder.mkdir(parents=True)
            shutil.copy(tmp_path / "source" / "frames.db", folder)
            with contextlib.closing(sqlite3.connect(folder / "frames.db")) as base, base:
                base.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
                base.execute("UPDATE part SET closed = 0")
    asked_everything(look_at(tmp_path / "runs"), count=sum(map(len, TABLES.values())))


def test_bytes_changed_at_random_are_a_message_at_most(tmp_path):
    run(tmp_path / "source", alert=10)
    data, chance = (tmp_path / "source" / "frames.db").read_bytes(), random.Random(0)
    for number in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 5, 50, 500])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        folder = tmp_path / "runs" / str(number)
        folder.mkdir(parents=True)
        (folder / "frames.db").write_bytes(damaged[:chance.randrange(len(damaged))] if number % 5 == 0 else damaged)
    asked_everything(look_at(tmp_path / "runs"), count=60)


def asked_everything(watch, count: int) -> None:
    assert len(watch.rows) == count and len(json.loads(watch.state())["runs"]) == count and json.loads(watch.news({}))
    for id in watch.runs:
        json.loads(watch.pictures(id))
        for name in ("loss", "gradient-flow", "activation-std", "learning-rate"):
            watch.numbers(id, name)
        watch.together([id])


def test_damage_that_comes_later_leaves_what_was_seen(tmp_path):
    run(tmp_path)
    followed = following(tmp_path)
    size = os.path.getsize(tmp_path / "frames.db")
    (tmp_path / "frames.db").write_bytes(b"x" * size)
    followed.look()

    assert followed.problem and len(followed.loss) == 40


def test_an_empty_file_waits(tmp_path):
    (tmp_path / "frames.db").touch()
    assert following(tmp_path).condition.kind == "waiting"


def test_a_named_file_that_is_no_ledger_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    watch = look_at(tmp_path / "notes.txt")

    assert "no ledger" in next(iter(watch.rows.values()))[1]


# ---------------------------------------------------------------------- how it goes on
def part(**how):
    return Part(**{"id": 1, "run": "main", "first": 0, "began": 0.0, "wrote": time.time(), "closed": False,
                   "writer": {"host": "elsewhere", "pid": 1}, **how})


def test_the_condition_of_a_process_on_another_machine_is_told_by_its_silence():
    assert condition([]).kind == "waiting" and condition([part(closed=True)]).kind == "finished"
    assert condition([part()]).kind == "running"
    assert condition([part(wrote=time.time() - 300)]).words == "silent on elsewhere"
    assert condition([part(wrote=time.time() - 300)], gap=60.0).kind == "running"


def test_a_process_that_is_there_but_silent_is_told(monkeypatch):
    monkeypatch.setattr(conditions.frames, "still_runs", lambda writer: True)
    quiet = part(wrote=time.time() - 300, writer={"host": socket.gethostname()})

    assert condition([quiet]).kind == "silent"


def test_one_rank_that_stopped_speaks_for_all():
    running, stopped = Condition("running", "running", 5.0), Condition("stopped", "stopped writing", 3.0)

    assert together({0: running, 1: stopped}) == Condition("stopped", "rank 1: stopped writing", 5.0)
    assert together({0: running, 1: running}).words == "running"
    assert together({0: Condition("finished", "finished", 2.0), 1: Condition("finished", "finished", 4.0)}).wrote == 4.0


def test_a_killed_process_is_noticed_and_nothing_that_it_wrote_is_lost(tmp_path):
    with writing(tmp_path / "a") as process:
        watch = look_at(tmp_path)
        (followed,) = watch.runs.values()
        while followed.step is None or followed.step < 40:
            followed.look()
            time.sleep(0.05)
        assert followed.condition.kind == "running"
        process.kill()
        process.wait()
    followed.look()

    assert followed.condition.kind == "stopped" and "did not close" in followed.condition.words
    last = framefile.last_frame(tmp_path / "a" / "frames.db")
    assert followed.step == last[0] and followed.loss.values[-1] == pytest.approx(loss(followed.step), rel=1e-5)


# ---------------------------------------------------------------------- what is told
def test_each_alert_is_told_once_and_facts_are_not_counted_as_alerts(tmp_path):
    ledger = run(tmp_path, close=False, alert=10)
    watch, seen = look_at(tmp_path), {}
    first = watch.news(seen)
    tell(ledger, 39, "another")
    ledger.event(39, "ledger", {"message": "a fact"})
    ledger.close()
    until(watch.look)  # a file whose first reading took long is not read again at once
    second = watch.news(seen)

    assert first.count("exactly zero") == 1 and '"alerts":1' in first
    assert "exactly zero" not in second and "another" in second and "a fact" in second and '"alerts":2' in second
    assert watch.news(seen) is None


def test_hostile_names_leave_as_text(tmp_path):
    run(tmp_path / "a", prefix=EVIL)
    watch = look_at(tmp_path)
    (id,) = watch.runs
    drawn = watch.pictures(id).decode()

    assert EVIL not in watch.numbers(id, "gradient-flow") and "&lt;script&gt;" in watch.numbers(id, "gradient-flow")
    assert "<script" not in json.loads(drawn)["figures"][1]["html"]
    assert watch.numbers(id, "nothing") is None and watch.numbers("x", "loss") is None and watch.pictures("x") is None


def test_a_place_is_itself_after_a_restart(tmp_path):
    run(tmp_path / "a", steps=range(2))
    first, second = Finder([tmp_path]).look(), Finder([tmp_path / "a"]).look()

    assert first[0].id == second[0].id and isinstance(first[0], Place)
