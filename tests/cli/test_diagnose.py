"""`whyloss diagnose`: a step frozen in one process, in one folder, gives its cause in another, when the script is gone."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile

import pytest

TRAINER = """
import sys
import torch
import whyloss
from net import Regressor

class Trainer:
    def __init__(self, model, rate):
        self.model, self.optimizer = model, torch.optim.Adam(model.parameters(), lr=rate)

    def step(self, x, y):
        loss = self.loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def loss(self, out, y):
        return ((out - y) ** 2).mean()

    def fit(self, x, y, steps):
        for _ in range(steps):
            at = torch.randint(0, len(x), (32,))
            self.step(x[at], y[at])

torch.manual_seed(0)
x = torch.randn(256, 6)
y = x[:, 0] * 2 - x[:, 1]
trainer = Trainer(Regressor(6), 1e-2)
with whyloss.Monitor(trainer.model, trainer.optimizer) as monitor:
    monitor.freeze("step.whyloss")
    trainer.fit(x, y if sys.argv[1] == "sick" else y[:, None], 150)
"""

NET = """
from torch import nn

class Regressor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.layers(x)
"""

LOADER = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import whyloss

torch.manual_seed(0)
WIDTH, CLASSES = 32, 3
squash = lambda x: torch.relu(x)

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.outer(squash(self.inner(x)))

x = torch.randn(600, 6)
y = x[:, :3].argmax(1)
model, loss_fn = Classifier(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
with whyloss.Monitor(model, optimizer) as monitor:
    monitor.freeze("step.whyloss")
    for epoch in range(12):
        for batch, labels in DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True):
            loss = loss_fn(model(batch), labels)
            if sys.argv[1] == "healthy":
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

LOCAL = """
import sys
import torch
from torch import nn
import whyloss

def build(width, slope):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.act = nn.Linear(width, width), lambda x: torch.where(x > 0, x, slope * x)

        def forward(self, x):
            return x + self.act(self.linear(x))
    return nn.Sequential(Block(), Block(), nn.Linear(width, 1))

def main(rate):
    torch.manual_seed(0)
    model = build(8, 0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    x = torch.randn(512, 8)
    y = x[:, :1] - 2 * x[:, 1:2] * (x[:, 2:3] > 0)

    def closure():
        at = torch.randint(0, 512, (64,))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[at]), y[at])
        loss.backward()
        return loss

    with whyloss.Monitor(model, optimizer) as monitor:
        monitor.freeze("step.whyloss")
        for _ in range(120):
            optimizer.step(closure)

main(0.6 if sys.argv[1] == "sick" else 0.05)
"""

RECURRENT = """
import sys
import torch
from torch import nn
import whyloss

torch.manual_seed(0)

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cell, self.head = nn.Embedding(12, 16), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 4)

    def forward(self, tokens):
        return self.head(self.cell(self.words(tokens))[0][:, -1])

model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
monitor = whyloss.Monitor(model, optimizer).attach()
monitor.freeze("step.whyloss")
for _ in range(140):
    tokens = torch.randint(0, 12, (32, 7))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(tokens)
        out = out if sys.argv[1] == "sick" else torch.log_softmax(out.float(), 1)
        loss = nn.functional.nll_loss(out.float(), tokens[:, -1] % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
monitor.close()
"""

LOGARITHM = """
import sys
import torch
from torch import nn
import whyloss

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(-1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(400, 6)
y = x[:, :3].argmax(1)
with whyloss.Monitor(model, optimizer, freeze="."):
    for step in range(90):
        at = torch.randint(0, 400, (32,))
        p = model(x[at])
        if step == 70:
            p = p * (torch.arange(32) > 3)[:, None]
        loss = -torch.log(p[torch.arange(32), y[at]]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def python(*call, folder):
    return subprocess.run([sys.executable, *map(str, call)], cwd=folder, capture_output=True, text=True, timeout=240,
                          env={**os.environ, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL)


def frozen(tmp_path, script: str, kind: str):
    """Train in one folder. -> the file, alone in another folder"""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    (there / "train.py").write_text(script)
    (there / "net.py").write_text(NET)
    done = python("train.py", kind, folder=there)
    assert done.returncode == 0, done.stderr
    (file,) = there.glob("*.whyloss")
    assert "without the step" not in done.stderr
    moved = here / "moved.whyloss"
    file.rename(moved)
    shutil.rmtree(there)
    return moved


def diagnosed(file, *options):
    done = python("-m", "whyloss", "diagnose", "--json", *options, file.name, folder=file.parent)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout), done


SICK = {
    "a trainer class and an imported model": (TRAINER, "loss-broadcasts", "train.py"),
    "a loader, a global lambda": (LOADER, "gradients-not-cleared", "train.py"),
    "a local class and a closure": (LOCAL, "learning-rate-too-high", None),
    "a GRU under autocast": (RECURRENT, "nll-without-log-softmax", "train.py"),
}


@pytest.mark.parametrize("style", SICK)
def test_a_frozen_step_gives_its_cause_elsewhere(tmp_path, style):
    script, cause, place = SICK[style]
    report, done = diagnosed(frozen(tmp_path, script, "sick"), "--trust", "--strict")

    first = report["findings"][0]
    assert (first["cause"], first["status"] in ("proven", "confirmed")) == (cause, True), report["summary"]
    assert first["trial"] is not None, report["not_examined"]
    assert done.returncode == 1
    if place:
        assert first["location"]["file"] == place


@pytest.mark.parametrize("style", SICK)
def test_a_frozen_step_of_a_healthy_training_is_healthy(tmp_path, style):
    report, done = diagnosed(frozen(tmp_path, SICK[style][0], "healthy"), "--trust", "--strict")

    assert report["verdict"] == "healthy", (report["summary"], report["not_examined"])
    assert not [row for row in report["not_examined"] if row.startswith("experiment")]
    assert done.returncode == 0


def test_the_step_that_failed_is_kept_and_its_operation_guarded(tmp_path):
    report, _done = diagnosed(frozen(tmp_path, LOGARITHM, "sick"), "--trust")

    first = report["findings"][0]
    assert (first["cause"], first["step"]) == ("log-of-zero", 70)
    assert first["location"] == {"file": "train.py", "line": 18}
    assert first["trial"]["holds"]


def test_nothing_of_an_untrusted_file_is_run(tmp_path):
    file = frozen(tmp_path, TRAINER, "sick")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(tmp_path / "here" / "evil.whyloss", "w") as new:
        for name in old.namelist():
            new.writestr(name, pickle.dumps(Evil()) if name.endswith(".pickle") else old.read(name))
    report, done = diagnosed(file.with_name("evil.whyloss"))

    assert not (file.parent / "evil").exists()
    assert "--trust" in done.stderr
    assert report["findings"][0]["cause"] == "loss-broadcasts" and report["findings"][0]["trial"] is None
    assert any("--trust" in row for row in report["not_examined"])


def test_the_report_quotes_the_script_of_then(tmp_path):
    file = frozen(tmp_path, TRAINER, "sick")
    done = python("-m", "whyloss", "diagnose", "--no-experiments", "--report", "r.md", file.name, folder=file.parent)

    assert "return ((out - y) ** 2).mean()" in done.stdout
    assert "loss-broadcasts" in (file.parent / "r.md").read_text()


def test_what_is_no_frozen_step_is_refused(tmp_path):
    (tmp_path / "x.whyloss").write_text("hello")
    for name, said in (("x.whyloss", "holds no frozen training step"), ("y.whyloss", "no such file")):
        done = python("-m", "whyloss", "diagnose", name, folder=tmp_path)
        assert done.returncode == 2 and said in done.stderr


NOTEBOOK = '''
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in ["import torch, whyloss\\nfrom torch import nn\\nWIDTH = 16", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
""", """
torch.manual_seed(0)
x = torch.randn(256, 6)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
with whyloss.Monitor(model, optimizer) as monitor:
    monitor.freeze("step.whyloss")
    for _ in range(100):
        at = torch.randint(0, 256, (32,))
        loss = ((model(x[at]) - x[at, 0]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""]:
    shell.run_cell(cell).raise_error()
'''


def test_a_class_of_a_notebook_is_known_by_its_cell(tmp_path):
    file = frozen(tmp_path, NOTEBOOK, "sick")
    done = python("-m", "whyloss", "diagnose", "--trust", file.name, folder=file.parent)

    assert "loss-broadcasts  proven" in done.stdout and "experiment  prediction and target in the same shape" in done.stdout
    assert "loss = ((model(x[at]) - x[at, 0]) ** 2).mean()" in done.stdout


def test_a_module_started_by_name_takes_its_package_along(tmp_path):
    package = tmp_path / "tool"
    package.mkdir()
    (package / "net.py").write_text(NET)
    (package / "train.py").write_text(TRAINER.replace("from net import", "from .net import"))
    done = python("-m", "tool.train", "sick", folder=tmp_path)
    shutil.rmtree(package)
    report, _ = diagnosed(tmp_path / "step.whyloss", "--trust")

    assert done.returncode == 0, done.stderr
    assert report["findings"][0]["cause"] == "loss-broadcasts" and report["findings"][0]["trial"]["holds"]
