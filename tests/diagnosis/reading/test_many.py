"""Many runs together."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from tests.diagnosis.reading.logs import column, falling, level, log
from whyloss.diagnosis.reading.many import ManyReading, read_many, read_with
from whyloss.diagnosis.reading.run import read_run
from whyloss.diagnosis.reading.separate import separate
from whyloss.diagnosis.reading.summary import settings_of, summarise
from whyloss.errors import BadInput


def run(seed, bad=False, at=None, **settings):
    values = level(200, seed=seed) if bad else falling(200, seed=seed)
    return log(column("loss", values), at=at or f"runs/{seed}/metrics.csv", **settings)


def sweep():
    """Eight good, eight bad: the rate decides, the batch does not."""
    return [run(i, bad=rate > 0.05, lr=rate, batch=batch) for i, (rate, batch, _) in enumerate(product((0.001, 0.01, 0.1, 1.0), (16, 32), (0, 1)))]


def runs_of(path):
    """What a reader would give; a module-level function, for it goes to other processes."""
    if path == "broken.csv":
        raise BadInput("broken.csv, line 3: no numbers")
    return [run(int(path), bad=int(path) % 2 == 1, lr=0.1)]


# ---- the table

def test_broken_runs_come_first_with_why_and_since_when():
    many = read_many([run(0), run(1, bad=True), log(column("loss", [1.0]), at="runs/2")])

    assert [(r.id, r.label, r.broken) for r in many.table()] == [
        ("runs/1/metrics.csv", "flat-from-start", True), ("runs/2", "too-short-to-tell", None), ("runs/0/metrics.csv", "healthy", False)]  # fmt: skip
    assert [r.since for r in many.table()] == [0, None, None]


def test_rows_are_small_whatever_the_curve_s_length():
    import pickle

    row = summarise(read_run(log(column("loss", falling(100_000)), lr=0.1)))

    assert len(pickle.dumps(row)) < 2000


# ---- which setting

def test_the_setting_that_separates_is_found_with_its_threshold():
    tests = read_many(sweep()).separating()

    assert [t.setting for t in tests if t.separates] == ["lr"]
    assert "0 of 8 bad up to 0.01, 8 of 8 bad from 0.1" in tests[0].text


def test_none_is_said_when_no_setting_separates():
    rng = np.random.default_rng(3)
    drawn = [{"lr": float(rng.choice([0.1, 0.01])), "wd": float(rng.uniform()), "opt": str(rng.choice(["adam", "sgd"]))} for _ in range(24)]
    runs = [run(i, bad=bool(rng.integers(2)), **settings) for i, settings in enumerate(drawn)]

    assert any(line.startswith("no setting separates good from bad: 3 tried") for line in read_many(runs).lines())


def test_chance_alone_is_rarely_called_a_separation():
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(150):
        rows = [{f"s{j}": float(v) for j, v in enumerate(rng.integers(0, 3, 5))} for _ in range(12)]
        wrong += any(t.separates for t in separate(rows, [True] * 4 + [False] * 8))

    assert wrong <= 15      # 5 % of 150, and chance


def test_fisher_s_exact_test_gives_the_textbook_value():
    (only,) = separate([{"milk": "tea"}] * 4 + [{"milk": "milk"}] * 4, [True, True, True, False, False, False, False, True])

    assert only.p == pytest.approx(34 / 70)


def test_settings_that_change_together_are_named_together():
    runs = [run(i, bad=i >= 4, lr=0.1 if i >= 4 else 0.01, schedule=2.0 if i >= 4 else 1.0) for i in range(8)]
    first = read_many(runs).separating()[0]

    assert {first.setting, *first.twins} == {"lr", "schedule"}


@pytest.mark.parametrize("runs", [[], [run(0, lr=1.0)], [run(i, bad=True, lr=float(i)) for i in range(5)], [run(i, bad=i > 2) for i in range(6)]])
def test_what_cannot_be_tested_is_said(runs):
    many = read_many(runs)

    assert many.separating() == []
    assert many.why_untested()


# ---- which runs are the same

def test_identical_curves_with_different_settings_are_a_setting_that_was_not_applied():
    (same,) = read_many([run(7, at="a", lr=0.1), run(7, at="b", lr=0.2), run(8, at="c", lr=0.1)]).same()

    assert (same.ids, same.exact, same.differing) == (("a", "b"), True, ("lr",))
    assert "lr differs: the setting was not applied" in same.line()


def test_copies_differ_in_name_only():
    (same,) = read_many([run(7, at="a", name="first", output_dir="x"), run(7, at="b", name="second", output_dir="y")]).same()

    assert same.differing == ()
    assert "copies" in same.line()


def test_nearly_equal_curves_are_told_from_another_seed():
    values = falling(200)
    near = values * (1 + 1e-3 * np.random.default_rng(1).normal(size=200))
    many = read_many([log(column("loss", values), at="a", lr=0.1), log(column("loss", near), at="b", lr=0.2), run(3, at="c", lr=0.3)])

    assert [(s.ids, s.exact) for s in many.same()] == [(("a", "b"), False)]


def test_a_stated_rate_that_the_log_contradicts():
    rate = column("learning_rate", 5e-5 * np.linspace(1, 0, 200))
    many = read_many(log(column("loss", falling(200)), rate, at=f"runs/lr_{stated}/log.csv") for stated in ("2e-4", "5e-5"))

    assert [bool(r.contradiction) for r in many.rows] == [True, False]
    assert "peaks at 5e-05" in many.rows[0].contradiction


def test_settings_come_from_the_log_and_the_path():
    assert settings_of({"optim": {"lr": 0.1}, "flag": True}, "sweep/lr=0.01_bs32/version_3/metrics.csv") == {
        "optim.lr": 0.1, "flag": "True", "lr (in the path)": 0.01, "bs (in the path)": 32.0}  # fmt: skip


# ---- anywhere

def test_parts_merge_to_the_same_answer():
    runs = sweep()
    parts = read_many(runs[:5]) + read_many(runs[5:])

    assert parts.rows == read_many(runs).rows
    assert parts.lines() == read_many(runs).lines()


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_gives_the_rows_in_order_and_names_what_it_could_not_read(pool):
    paths = ["0", "1", "broken.csv", "2", "3"]
    with pool(2) as executor:
        many = read_with(executor, runs_of, paths, chunk=2, ahead=2)

    assert many.rows == read_many(r for p in paths if p != "broken.csv" for r in runs_of(p)).rows
    assert many.refused == [("broken.csv", "broken.csv, line 3: no numbers")]
    assert isinstance(many, ManyReading)


# ---- one training logged twice

def test_a_training_logged_in_two_formats_side_by_side_counts_once():
    csv, events = run(1, at="runs/a/metrics.csv", lr=0.1), run(1, at="runs/a")
    events.format, events.files = "TensorBoard events", ("runs/a/events.out.tfevents.1",)
    elsewhere, other = run(1, at="runs/b/metrics.csv", lr=0.1), run(2, at="runs/a/second.csv", lr=0.1)
    csv.files, elsewhere.files, other.files = (("runs/a/metrics.csv",), ("runs/b/metrics.csv",), ("runs/a/second.csv",))
    many = read_many([csv, events, elsewhere, other]).joined()
    assert [r.id for r in many.rows] == ["runs/a/metrics.csv", "runs/b/metrics.csv", "runs/a/second.csv"]
    assert many.twice == [("runs/a", "runs/a/metrics.csv")]
    assert any("runs/a: the training of runs/a/metrics.csv in another format" in line for line in many.lines())
    assert (many + many).twice == many.twice * 2


def test_copies_in_one_format_stay_apart():
    rows = [run(1, at=f"runs/a/{name}.csv") for name in "ab"]
    for row in rows:
        row.files = (row.id,)
    many = read_many(rows)
    assert many.joined() is many and len(many.same()) == 1
