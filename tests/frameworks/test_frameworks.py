"""Unmodified scripts of other people's training loops: replayed, judged, bit for bit what they were. `make test-frameworks`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
SCRIPTS = {"pytorch_lightning": HERE / "lightning_script.py", "transformers": HERE / "trainer_script.py"}
CAUSES = {"": None, "stale": "stale-optimizer-parameters", "zero": "learning-rate-zero", "frozen": "parameters-frozen"}


def run(command, folder, fault="", name="w.pt"):
    environment = {**os.environ, "WEIGHTS": str(folder / name), "OUT": str(folder / "out"), "FAULT": fault, "OMP_NUM_THREADS": "1",
                   "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)


def watched(script, folder, fault, *options):
    done = run([sys.executable, "-m", "whyloss", "run", "--report", str(folder / "r.json"), *options, str(script)], folder, fault)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "r.json").read_text())


@pytest.mark.parametrize("framework", SCRIPTS)
def test_weights_and_output_are_those_of_the_unwatched_run(framework, tmp_path):
    pytest.importorskip(framework)
    bare = run([sys.executable, str(SCRIPTS[framework])], tmp_path, name="bare.pt")
    assert bare.returncode == 0, bare.stderr[-2000:]
    watched(SCRIPTS[framework], tmp_path, "", "--no-experiments")
    first, second = torch.load(tmp_path / "bare.pt"), torch.load(tmp_path / "w.pt")
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("fault", CAUSES)
@pytest.mark.parametrize("framework", SCRIPTS)
def test_the_cause_is_found_and_the_healthy_run_is_spared(framework, fault, tmp_path):
    pytest.importorskip(framework)
    report = watched(SCRIPTS[framework], tmp_path, fault, "--budget", "20")
    assert not [row for row in report["not_examined"] if row.startswith("experiments:") or "an error of whyloss" in row]
    if fault:
        assert report["findings"][0]["cause"] == CAUSES[fault], report["findings"][:2]
        assert report["verdict"] == "fault"
    else:
        assert report["verdict"] == "healthy", report["findings"][:2]
