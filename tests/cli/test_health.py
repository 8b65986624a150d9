"""`whyloss health`, called as people call it: a run at a glance, live or finished."""

import json
import os
import sqlite3
import threading
import time

import numpy as np
import pytest
from click.testing import CliRunner

from whyloss.cli.health import command, keep_showing
from whyloss.evidence import Evidence
from whyloss.render.json import render
from whyloss.report import Curve, Layer, Report
from whyloss.sources.frames import FrameLedger, ledger_file
from whyloss.sources.ledger import Ledger

LAYERS = ("layers.0", "layers.2", "layers.4")
COLUMNS = [("loss", "run"), *[(q, s) for name in LAYERS for q, s in (
    ("activation_std", name), ("dead_share", f"{name}:relu"), ("grad_norm", f"{name}.weight"), ("grad_norm", f"{name}.bias"),
    ("weight_norm", f"{name}.weight"), ("weight_norm", f"{name}.bias"), ("update_ratio", f"{name}.weight"), ("update_ratio", f"{name}.bias"))]]


def call(*arguments):
    return CliRunner().invoke(command, [*map(str, arguments)])


def numbers(step, *, deep=1.0, ratio=1e-3):
    """std 1, a tenth dead, gradient 5 (3 and 4), weights 10 (8 and 6)"""
    row = [2.0 / (1 + step / 10)]
    for at in range(len(LAYERS)):
        small = deep if at == 2 else 1.0
        row += [1.0, 0.1 + 0.3 * at, 3.0 * small, 4.0 * small, 8.0, 6.0, ratio, ratio]
    return np.array(row, np.float32)


def run(folder, *, steps=40, close=True, rank=0, world=1, **how):
    ledger = FrameLedger(ledger_file(folder, rank, world))
    ledger.columns(COLUMNS)
    ledger.observe("rank", {"rank": rank, "world": world})
    for step in range(steps):
        ledger.frame(step, numbers(step, **how), step)
    ledger.event(steps - 1, "alert", {"message": "loss is 7 times its median"})
    if close:
        ledger.close()
    return ledger


def test_a_row_a_layer_with_its_parameters_together_guides_and_what_was_told(tmp_path):
    run(tmp_path / "a")

    done = call(tmp_path / "a")
    assert done.exit_code == 0, done.output
    assert "step 39" in done.output and "40 frames" in done.output and "finished" in done.output
    line = next(line for line in done.output.splitlines() if line.strip().startswith("layers.0"))
    assert line.split()[:6] == ["layers.0", "1", "10%", "5", "10", "0.001"]
    assert "70% ↑" in done.output and "1e-4..1e-2" in done.output and "no fault by itself" in done.output
    assert "step 39  alert  loss is 7 times its median" in done.output


def test_json_holds_the_rows_the_guides_and_the_trend(tmp_path):
    run(tmp_path, ratio=0.5)

    told = json.loads(call(tmp_path, "--json", "--trend", "weight_norm").output, parse_constant=pytest.fail)
    first = told["layers"][0]
    assert [row["name"] for row in told["layers"]] == list(LAYERS) and first["grad_norm"] == 5.0 and first["weight_norm"] == 10.0
    assert first["update_ratio"] == pytest.approx(0.5) and first["outside_guide"] == {"update_ratio": "high"}
    assert told["trend_of"] == "weight_norm" and first["trend"] == [10.0] * 40 and told["finished"] and told["guides"]["update_ratio"]["source"]
    assert told["loss"]["first"] == 2.0 and told["events"][0]["data"]["message"].startswith("loss")


def test_a_row_a_parameter(tmp_path):
    run(tmp_path)

    told = json.loads(call(tmp_path, "--json", "--parameters").output)
    assert {row["name"]: row["grad_norm"] for row in told["layers"]}["layers.2.bias"] == 4.0 and len(told["layers"]) == 6


def test_a_layer_unlike_the_others_or_unlike_itself_earlier_stands_out(tmp_path):
    ledger = run(tmp_path, deep=1e-5, close=False)
    values = numbers(40, deep=1e-5)
    values[COLUMNS.index(("weight_norm", "layers.2.weight"))] = 4000.0
    values[COLUMNS.index(("activation_std", "layers.0"))] = np.nan
    ledger.frame(40, values, 40)
    ledger.close()

    noticed = json.loads(call(tmp_path, "--json").output)["noticed"]
    assert noticed[0] == "layers.0: activation_std is NaN at step 40"
    assert any("layers.4: gradient norm" in line and "below the median of the layers" in line for line in noticed)
    assert any("layers.2: weight_norm" in line and "above the median of this layer over the run" in line for line in noticed)


def test_a_live_run_and_a_killed_one_are_told_apart(tmp_path, monkeypatch):
    ledger = run(tmp_path, close=False)
    assert "running, written" in call(tmp_path).output

    monkeypatch.setattr("whyloss.sources.frames.still_runs", lambda writer: False)
    assert "without closing its ledger" in call(tmp_path).output
    ledger.close()


def test_of_several_ranks_the_merged_run_is_shown_and_the_one_that_departs_is_named(tmp_path):
    for rank in range(3):
        run(tmp_path, rank=rank, world=3, deep=1.5 if rank == 1 else 1.0)

    done = call(tmp_path)
    assert "3 ranks, 40 common frames" in done.output
    assert "grad_norm differs between ranks since step 0: rank 1, layers.4.weight" in " ".join(done.output.split())


def test_what_whyloss_run_kept_is_shown_too(tmp_path):
    evidence, facts = Evidence(), Evidence()
    for step in range(5):
        evidence.add("loss", 1.0 - 0.1 * step, step=step)
        evidence.add("grad_norm", 0.25, subject="fc.weight", step=step)
        evidence.add("activation_std", 0.5, subject="fc", step=step)
    facts.add("totals", {"optimizer_steps": 5})
    ledger = Ledger(tmp_path)
    ledger.write(evidence, facts)
    ledger.close()

    for path in (tmp_path, ledger.file):
        done = call(path)
        assert done.exit_code == 0 and "5 steps" in done.output and "fc" in done.output and "0.25" in done.output


def test_a_report_is_shown_if_it_holds_layers(tmp_path):
    layer = Layer("fc1", "Linear", values={"activation_std": {"first": 1.0, "last": 0.01}, "grad_norm": {"first": 0.5, "last": 0.25}})
    curve = Curve("loss", "loss", "healthy", steps=(0, 99), values=(2.0, 1.0))
    (tmp_path / "report.json").write_text(render(Report("healthy", layers=(layer,), curves=(curve,))))
    (tmp_path / "empty.json").write_text(render(Report("healthy")))

    done = call(tmp_path / "report.json")
    assert done.exit_code == 0 and "fc1" in done.output and "0.01 ↓" in done.output and "step 99" in done.output
    refused = call(tmp_path / "empty.json")
    assert refused.exit_code != 0 and "without layers" in str(refused.exception)


def test_of_a_folder_of_runs_the_newest_is_shown(tmp_path):
    run(tmp_path / "old", steps=10)
    run(tmp_path / "new", steps=20)
    os.utime(tmp_path / "old" / "frames.db", (1, 1))

    assert "new" in call(tmp_path).output and "20 frames" in call(tmp_path).output


def test_a_run_at_an_address_is_shown_whole_or_by_its_ledger():
    fsspec = pytest.importorskip("fsspec")
    for rank in range(2):
        run("memory://runs/health", rank=rank, world=2)

    assert "2 ranks, 40 common frames" in call("memory://runs/health").output
    assert "memory://runs/health/frames-rank-00001.db" in call("memory://runs/health/frames-rank-00001.db").output
    fsspec.filesystem("memory").rm("/runs/health", recursive=True)


@pytest.mark.parametrize("name", ["missing", "empty", "torn.db", "other.db"])
def test_what_is_no_run_is_refused_in_words(tmp_path, name):
    path = tmp_path / name
    if name == "empty":
        path.mkdir()
    elif name == "torn.db":
        path.write_bytes(b"SQLite format 3\0torn")
    elif name == "other.db":
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE x (y)")
        base.commit()
        base.close()

    done = call(path)
    assert done.exit_code != 0 and type(done.exception).__name__ == "LogUnreadable" and str(path) in str(done.exception)


def test_follow_tells_each_event_once_and_ends_with_the_run(tmp_path, capsys):
    ledger = run(tmp_path, close=False)

    def goes_on():
        time.sleep(0.2)
        ledger.event(41, "alert", {"message": "gradient is not finite"})
        ledger.close()

    other = threading.Thread(target=goes_on)
    other.start()
    assert keep_showing(str(tmp_path), {}, as_json=False, everything=False, pause=0.05, looks=200) == 0
    other.join()
    said = capsys.readouterr().out
    assert said.count("alert  loss is 7 times") == 2 and said.count("gradient is not finite") == 2  # as it came, and in the table at the end
    assert "finished" in said


def test_follow_waits_for_a_run_that_is_not_there_yet(tmp_path, capsys):
    assert keep_showing(str(tmp_path / "later"), {}, as_json=False, everything=False, pause=0.01, looks=3) == 2
    assert capsys.readouterr().out.count("waiting:") == 1


def test_a_large_model_shows_what_is_outside_a_guide_first(tmp_path):
    with FrameLedger(ledger_file(tmp_path)) as ledger:
        ledger.columns([("update_ratio", f"layers.{i}.weight") for i in range(300)])
        ledger.frame(0, np.array([0.9 if i == 137 else 1e-3 for i in range(300)], np.float32), 0.0)

    short, whole = call(tmp_path).output, call(tmp_path, "--all").output
    assert "layers.137" in short and "and 260 more layers" in short and whole.count("layers.") >= 300


def test_names_cannot_steer_the_terminal(tmp_path):
    with FrameLedger(ledger_file(tmp_path)) as ledger:
        ledger.columns([("grad_norm", "a\x1b[31m[red]b.weight")])
        ledger.frame(0, np.ones(1, np.float32), 0.0)
        ledger.event(0, "alert\x1b]0;x", {"message": "\x1b[2Jgone"})

    assert "\x1b" not in call(tmp_path).output and "[red]" in call(tmp_path).output


def test_a_function_that_a_module_calls_stands_behind_the_parts_of_that_module():
    from whyloss.render.health import Row, _beside

    names = ["blocks.0.a", "blocks.0.b", "blocks.1.a", "out", "blocks.0.relu", "relu", "blocks.1.relu"]
    assert [row.name for row in _beside([Row(name) for name in names])] == [
        "blocks.0.a", "blocks.0.b", "blocks.0.relu", "blocks.1.a", "blocks.1.relu", "out", "relu"]
