"""Real processes over gloo: nothing changes, every way of starting ranks is heard, a rank that dies is said and not waited for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parent / "scripts" / "replicas.py"
FREE = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}


def watched(tmp_path, method, fault="none", **environment):
    report = tmp_path / "report.json"
    done = subprocess.run([sys.executable, "-m", "whyloss", "run", "--no-experiments", "--report", str(report),
                           str(SCRIPT), str(tmp_path), method, fault],
                          env={**FREE, "OMP_NUM_THREADS": "1", **environment}, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    return done, json.loads(report.read_text())


def test_watched_ranks_end_with_bitwise_the_same_weights(tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "seen").mkdir()
    subprocess.run([sys.executable, str(SCRIPT), str(tmp_path / "bare"), "spawn", "none"],
                   env={**FREE, "OMP_NUM_THREADS": "1", "WEIGHTS": str(tmp_path / "a")}, timeout=200, check=True)
    done, report = watched(tmp_path / "seen", "spawn", WEIGHTS=str(tmp_path / "b"))
    for rank in (0, 1):
        bare, seen = (torch.load(tmp_path / f"{name}-{rank}.pt") for name in "ab")
        assert all(torch.equal(bare[key], seen[key]) for key in bare)
    assert done.returncode == 0 and "an error of whyloss" not in json.dumps(report)
    assert not [f for f in report["findings"] if f["status"] in ("proven", "confirmed")]


def test_ranks_that_were_forked_are_heard(tmp_path):
    _, report = watched(tmp_path, "fork", "bypass")

    assert report["findings"][0]["cause"] == "gradients-not-reduced"


def test_a_rank_that_died_is_named_and_not_waited_for(tmp_path):
    done, report = watched(tmp_path, "spawn", "die")

    assert any(line.startswith("rank 1: only in part: its process ended") for line in report["not_examined"]), report["not_examined"]
    assert not [f for f in report["findings"] if f["cause"].startswith(("ranks", "gradients-not"))]


@pytest.mark.parametrize("how", ["inside", "outside"])
def test_torchrun_may_start_whyloss_or_be_started_by_it(tmp_path, how):
    script, report = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(SCRIPT.read_text().split("if __name__")[0].replace('init_method=f"file://{folder}/meeting", rank=rank, world_size=2', "")
                      + 'train(int(os.environ["RANK"]), ".", "bypass")\n')
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    whyloss = ["-m", "whyloss", "run", "--no-experiments", "--report", str(report)]
    command = [*torchrun, *whyloss, str(script)] if how == "inside" else [sys.executable, *whyloss, *torchrun, str(script)]
    done = subprocess.run(command, env={**FREE, "OMP_NUM_THREADS": "1"}, cwd=tmp_path, capture_output=True, text=True, timeout=200)

    assert json.loads(report.read_text())["findings"][0]["cause"] == "gradients-not-reduced", done.stderr[-800:]
    assert done.stderr.count("whyloss found") == 1


def test_each_rank_freezes_its_steps_into_a_file_of_its_own(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("""
import torch, whyloss
from torch import nn
torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(256, 6)
with whyloss.Monitor(model, optimizer, freeze=".", stop_on_nonfinite=True) as monitor:
    monitor.freeze("step.whyloss", steps=10)
    for _ in range(40):
        at = torch.randint(0, 256, (32,))
        loss = ((model(x[at]) - x[at, 0]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
assert "one rank alone" in monitor.not_observed["the step"] and monitor.problem is None
torch.distributed.destroy_process_group()
""")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    done = subprocess.run(torchrun, env={**FREE, "OMP_NUM_THREADS": "1"}, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-800:]
    for rank in (0, 1):
        told = subprocess.run([sys.executable, "-m", "whyloss", "diagnose", "--trust", "--json", f"step-rank{rank}.whyloss"], cwd=tmp_path,
                              env={**FREE, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=200)
        first = json.loads(told.stdout)["findings"][0]
        assert first["cause"] == "loss-broadcasts" and first["trial"]["holds"]
