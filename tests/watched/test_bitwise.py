"""Watching changes nothing: the final weights bit for bit, standard output byte for byte, the exit status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPTS = Path(__file__).parent / "scripts"
ARGUMENTS = {"trainer_class": ["--epochs", "2"]}


def run(command, weights, folder):
    environment = {**os.environ, "WEIGHTS": str(weights), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=240)


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda p: p.stem)
def test_a_watched_run_is_bitwise_the_unwatched_run(script, tmp_path):
    call = [str(script), *ARGUMENTS.get(script.stem, [])]
    bare = run([sys.executable, *call], tmp_path / "bare.pt", tmp_path)
    report = tmp_path / "report.json"
    watched = run([sys.executable, "-m", "whyloss", "run", "--budget", "4", "--report", str(report), *call], tmp_path / "watched.pt", tmp_path)

    assert watched.returncode == bare.returncode
    assert watched.stdout == bare.stdout
    first, second = torch.load(tmp_path / "bare.pt"), torch.load(tmp_path / "watched.pt")
    assert flat(first).keys() == flat(second).keys()
    assert all(torch.equal(value, flat(second)[name]) for name, value in flat(first).items())
    assert report.exists()
    text = report.read_text()
    assert "an error of whyloss" not in text, text[-1500:]


def flat(state, prefix=""):
    found = {}
    for name, value in state.items():
        found.update(flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value})
    return found
