"""`whyloss run --watch`: a Monitor in a script that knows nothing of it."""

import json
import subprocess
import sys

from whyloss.sources.ledger import read_frames

SCRIPT = """
import hashlib, torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
other = nn.Linear(8, 3)
optimizers = [torch.optim.AdamW(net.parameters(), lr=1e-2), torch.optim.SGD(other.parameters(), lr=0.1)]
for step in range(60):
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    for model, optimizer in zip((net, other), optimizers):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for m in (net, other) for p in m.parameters())).hexdigest())
raise SystemExit(3)
"""


def run(script, *options):
    return subprocess.run([sys.executable, *options, str(script)], capture_output=True, text=True, timeout=120)


def test_watches_every_model_and_changes_neither_weights_nor_status(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)

    bare = run(script)
    watched = run(script, "-m", "whyloss", "run", "--watch", str(tmp_path / "ledger"))

    assert watched.returncode == bare.returncode == 3
    assert watched.stdout == bare.stdout
    assert "watched 60 steps" in watched.stderr
    for folder in (tmp_path / "ledger", tmp_path / "ledger" / "2"):
        evidence = read_frames(folder / "frames.db")
        assert evidence.by_subject("grad_norm") and evidence.by_subject("update_ratio")


def test_a_report_cannot_be_had_from_watching_alone(tmp_path):
    done = run(tmp_path / "train.py", "-m", "whyloss", "run", "--watch", str(tmp_path / "ledger"), "--report", "x.json")

    assert done.returncode == 2 and "--report" in done.stderr and "whyloss health" in done.stderr


def test_an_option_that_would_do_nothing_is_refused(tmp_path):
    done = run(tmp_path / "train.py", "-m", "whyloss", "run", "--watch", str(tmp_path / "ledger"), "--steps", "5")

    assert done.returncode == 2 and "--steps" in done.stderr


DIVERGING = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
x = torch.randn(512, 8)
y = x[:, :1] * 2 + x[:, 1:2]
for step in range(240):
    if step == 110:
        optimizer.param_groups[0]["lr"] = 0.7
    at = torch.randint(0, 512, (32,))
    loss = ((model(x[at]) - y[at]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""


def test_with_freeze_a_diverging_training_leaves_a_step_that_tells_why(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(DIVERGING)
    bare = run(script)
    watched = run(script, "-m", "whyloss", "run", "--watch", str(tmp_path / "ledger"), "--freeze")
    (file,) = (tmp_path / "ledger").glob("loss-diverging-*.whyloss")
    done = subprocess.run([sys.executable, "-m", "whyloss", "diagnose", "--trust", "--json", str(file)], capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL)

    assert watched.stdout == bare.stdout and f"whyloss diagnose {file}" in watched.stderr
    assert (tmp_path / "ledger" / "step-0.whyloss").exists(), "the beginning is saved whatever comes"
    report = json.loads(done.stdout)
    assert (report["findings"][0]["cause"], report["findings"][0]["status"]) == ("learning-rate-too-high", "confirmed")


def test_freeze_without_watch_is_refused(tmp_path):
    (tmp_path / "train.py").write_text("")
    done = run(tmp_path / "train.py", "-m", "whyloss", "run", "--freeze")

    assert done.returncode == 2 and "--watch" in done.stderr


def test_workers_that_train_side_by_side_keep_a_ledger_each(tmp_path):
    (tmp_path / "search.py").write_text('''
import multiprocessing
import time

import torch


def train(rate):
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    for step in range(200):
        loss = net(torch.randn(16, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)


if __name__ == "__main__":
    workers = [multiprocessing.get_context("spawn").Process(target=train, args=(rate,)) for rate in (0.1, 0.01)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
''')
    done = run(tmp_path / "search.py", "-m", "whyloss", "run", "--watch", str(tmp_path / "ledger"))

    assert done.returncode == 0
    files = sorted((tmp_path / "ledger").rglob("frames.db"))
    assert len(files) == 2 and files[1].parent.name.startswith("process-")
    for file in files:
        assert read_frames(file).series("loss", run="main").values
    assert "whyloss health" in done.stderr and "nothing was watched" not in done.stderr
