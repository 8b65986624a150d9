"""Ray Train on torch: its workers train in a thread of a process that Ray ends; each rank is heard all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from whyloss import checks
from whyloss.diagnosis.examine import examine
from whyloss.sources.merging import merge

pytest.importorskip("ray")
SCRIPT = Path(__file__).parent / "ray_script.py"


def run(folder, *before, **more):
    environment = {**os.environ, "WEIGHTS": str(folder / "w.pt"), "OUT": str(folder / "out"), "OMP_NUM_THREADS": "1",
                   "RAY_USAGE_STATS_ENABLED": "0", **more}
    done = subprocess.run([sys.executable, *before, str(SCRIPT)], cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    return done, torch.load(folder / "w.pt")


def causes(folder):
    merged = merge(folder)
    assert merged.fact("ranks_merged")["ranks"] == 2
    return [f.cause for check in checks.ALL if check.stage == "ranks" for f in examine(check(), merged).findings]


@pytest.fixture(scope="module")
def monitored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitored")
    return folder, run(folder, WATCH=str(folder / "ledgers"))[1]


def test_two_workers_with_a_monitor_leave_ledgers_that_are_merged(monitored):
    folder, _ = monitored

    assert causes(folder / "ledgers") == []
    losses = merge(folder / "ledgers").series("loss")
    assert losses.steps == list(range(150)) and losses.values[-1] < 0.6 * losses.values[0]


def test_an_unmodified_script_is_watched_to_the_same_weights_and_diagnosed(monitored, tmp_path):
    report = tmp_path / "report.json"
    done, weights = run(tmp_path, "-m", "whyloss", "run", "--budget", "10", "--report", str(report))

    assert all(torch.equal(weights[name], monitored[1][name]) for name in weights)
    found = json.loads(report.read_text())
    assert found["verdict"] == "healthy", (found["findings"][:2], found["summary"], done.stderr[-1500:])
    assert not [row for row in found["not_examined"] if row.startswith(("experiments:", "rank "))]


def test_the_fault_is_found_by_the_merged_ledgers_of_a_watched_script(tmp_path):
    done, _ = run(tmp_path, "-m", "whyloss", "run", "--watch", str(tmp_path / "ledgers"), FAULT="bypass")

    assert causes(tmp_path / "ledgers") == ["gradients-not-reduced"]
