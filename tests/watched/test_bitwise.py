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


WARNED = """
import torch, warnings
import torch.nn.functional as F
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
x, y = torch.randn(8, 4), torch.randn(8)
F.mse_loss(model(x), y)
for _ in range(2):
    loss = F.mse_loss(model(x), y); loss.backward(); optimizer.step()
torch.nn.Softmax()(x)
torch.randn(2, 2, 2).T
torch.tensor(x)
float(model(x).sum())
scheduler.step(7)
weight = torch.nn.Parameter(torch.ones(3, dtype=torch.cfloat))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    weight.abs().sum().backward(); optimizer.step()
"""


def test_a_warning_names_the_scripts_own_line_and_none_is_ours(tmp_path):
    (tmp_path / "s.py").write_text(WARNED)
    bare, seen = (subprocess.run([sys.executable, *how, "s.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
                  for how in ([], ["-m", "whyloss", "run", "--no-experiments", "--quiet"]))
    assert seen.stderr == bare.stderr and bare.stderr.count("s.py:") >= 6


SHARDED = """
import os, torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
torch.manual_seed(0)
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=0, world_size=1)
model, mesh = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), init_device_mesh("cpu", (1,))
fully_shard(model[0], mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
for _ in range(10):
    loss = nn.functional.cross_entropy(model(torch.randn(32, 8)), torch.randint(0, 3, (32,)))
    loss.backward(); optimizer.step(); optimizer.zero_grad()
print(loss.item())
dist.destroy_process_group()
"""


def test_the_gathered_weights_of_a_sharded_model_are_not_read_once_they_are_released(tmp_path):
    (tmp_path / "s.py").write_text(SHARDED)
    bare, seen = (subprocess.run([sys.executable, *how, "s.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
                  for how in ([], ["-m", "whyloss", "run", "--no-experiments", "--quiet"]))
    assert bare.returncode == seen.returncode == 0 and seen.stdout == bare.stdout
