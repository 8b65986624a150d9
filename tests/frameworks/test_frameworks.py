"""Unmodified scripts of other people's training loops: replayed, judged, bit for bit what they were. `make test-frameworks`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
SCRIPTS = {"pytorch_lightning": "lightning", "transformers": "trainer", "accelerate": "accelerate", "ignite": "ignite",
           "fastai": "fastai", "keras": "keras"}
CAUSES = {"stale": "stale-optimizer-parameters", "zero": "learning-rate-zero", "frozen": "parameters-frozen"}
BROKEN = [("pytorch_lightning", "stale"), ("transformers", "frozen"), ("accelerate", "stale"), ("ignite", "zero")]


def run(command, folder, fault="", name="w.pt"):
    environment = {**os.environ, "WEIGHTS": str(folder / name), "OUT": str(folder / "out"), "FAULT": fault, "OMP_NUM_THREADS": "1",
                   "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)


def watched(script, folder, fault="", *options):
    done = run([sys.executable, "-m", "whyloss", "run", "--report", str(folder / "r.json"), *options, str(script)], folder, fault)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads((folder / "r.json").read_text())
    assert not [row for row in report["not_examined"] if "an error of whyloss" in row]
    return report


def script_of(framework):
    pytest.importorskip(framework)
    return HERE / f"{SCRIPTS[framework]}_script.py"


def replayed(report):
    return not [row for row in report["not_examined"] if row.startswith("experiments:")]


@pytest.mark.parametrize("framework", SCRIPTS)
def test_weights_are_those_of_the_unwatched_run_which_is_found_healthy(framework, tmp_path):
    script = script_of(framework)
    bare = run([sys.executable, str(script)], tmp_path, name="bare.pt")
    assert bare.returncode == 0, bare.stderr[-2000:]
    report = watched(script, tmp_path, "", "--budget", "20")
    first, second = torch.load(tmp_path / "bare.pt"), torch.load(tmp_path / "w.pt")
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert report["verdict"] == "healthy", report["findings"][:2]
    assert replayed(report) or framework == "keras"  # whose models are copied by saving them, which does not always go


@pytest.mark.parametrize("framework, fault", BROKEN)
def test_the_cause_is_found(framework, fault, tmp_path):
    report = watched(script_of(framework), tmp_path, fault, "--budget", "20")
    assert replayed(report)
    assert report["verdict"] == "fault" and report["findings"][0]["cause"] == CAUSES[fault], report["findings"][:2]


def test_a_model_that_is_built_by_its_first_batch_is_seen_and_found_healthy(tmp_path):
    pytest.importorskip("keras")
    script = HERE / "keras_lazy_script.py"
    bare = run([sys.executable, str(script)], tmp_path)
    done = run([sys.executable, "-m", "whyloss", "run", "--report", str(tmp_path / "r.json"), "--budget", "20", str(script)], tmp_path)
    assert done.stdout.splitlines()[-1] == bare.stdout.splitlines()[-1]  # the weights
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["verdict"] == "healthy", (report["summary"], report["findings"][:2])
    assert not [row for row in report["not_examined"] if "an error of whyloss" in row]


@pytest.mark.parametrize("framework", ["fastai", "keras"])
def test_optimizers_that_are_none_of_torch_are_watched_too(framework, tmp_path):
    script = script_of(framework)
    done = run([sys.executable, "-m", "whyloss", "run", "--watch", str(tmp_path / "run"), str(script)], tmp_path)
    assert done.returncode == 0 and "whyloss: watched " in done.stderr, done.stderr[-2000:]
    told = run([sys.executable, "-m", "whyloss", "health", str(tmp_path / "run")], tmp_path).stdout
    assert "loss" in told and "frames" in told
