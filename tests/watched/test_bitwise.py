"""Watching changes nothing: the final weights bit for bit, standard output byte for byte, the exit status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPTS = Path(__file__).parent / "scripts"
ARGUMENTS = {"trainer_class": ["--epochs", "2"], "closures_and_spawned_loader": ["--name", "two words", "--steps", "3"]}
EXPERIMENTS = {"plain_loop", "gan", "raw_tensors", "gradients_by_hand"}  # the others are only watched, to save time


def run(command, weights, folder):
    environment = {**os.environ, "WEIGHTS": str(weights), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=240, input=b"typed")


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda p: p.stem)
def test_a_watched_run_is_bitwise_the_unwatched_run(script, tmp_path):
    call = [str(script), *ARGUMENTS.get(script.stem, [])]
    bare = run([sys.executable, *call], tmp_path / "bare.pt", tmp_path)
    report, options = tmp_path / "report.json", ["--budget", "4"] if script.stem in EXPERIMENTS else ["--no-experiments"]
    watched = run([sys.executable, "-m", "whyloss", "run", *options, "--report", str(report), *call], tmp_path / "watched.pt", tmp_path)

    assert watched.returncode == bare.returncode
    assert watched.stdout == bare.stdout
    first, second = torch.load(tmp_path / "bare.pt"), torch.load(tmp_path / "watched.pt")
    assert flat(first).keys() == flat(second).keys()
    assert all(torch.equal(value, flat(second)[name]) for name, value in flat(first).items())
    assert report.exists()
    text = report.read_text()
    assert "an error of whyloss" not in text, text[-1500:]


def test_the_users_own_sitecustomize_still_runs_and_environment_and_path_look_the_same(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import builtins\nbuiltins.MINE = 41\n")
    (tmp_path / "s.py").write_text("import sys, sitecustomize\nprint(MINE, sys.argv, sys.path[0], sitecustomize.__file__, __name__)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    call = [str(tmp_path / "s.py"), "-x", "--report", "mine"]
    bare, seen = (subprocess.run([sys.executable, *how, *call], env=environment, capture_output=True, text=True, timeout=60)
                  for how in ([], ["-m", "whyloss", "run"]))
    assert bare.stdout == seen.stdout and bare.stdout.startswith("41")


def flat(state, prefix=""):
    found = {}
    for name, value in state.items():
        found.update(flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value})
    return found
