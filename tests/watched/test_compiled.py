"""`whyloss run` leaves what a compiler sees alone: no graph more, no warning, where the model or the optimizer's step is compiled."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys, torch
from torch import nn
from torch._dynamo.utils import counters

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.inside(x)


model = torch.compile(Net(), backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = torch.compile(optimizer.step, backend="eager") if "step" in sys.argv else optimizer.step
x = torch.randn(64, 8)
for _ in range(6):
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    step()
print(json.dumps([loss.item(), counters["stats"]["unique_graphs"], counters["stats"]["calls_captured"]]))
"""


@pytest.mark.parametrize("what", ["model", "step"])
def test_as_many_graphs_as_unwatched(tmp_path, what):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    bare, watched = (subprocess.run([sys.executable, *options, str(script), what], capture_output=True, text=True, timeout=300)
                     for options in ([], ["-m", "whyloss", "run"]))

    assert json.loads(watched.stdout.splitlines()[0]) == pytest.approx(json.loads(bare.stdout))
    assert "does not know how to trace" not in watched.stderr and "Graph break" not in watched.stderr
