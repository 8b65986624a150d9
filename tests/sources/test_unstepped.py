"""A script with no optimizer of torch is watched all the same once its weights are seen to change; one that trains nothing is not."""

import pytest
import torch
from torch import nn

from whyloss.sources.unasked import Watching, summary


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


@pytest.fixture
def watching(tmp_path):
    before = torch.autograd.backward
    found = Watching(tmp_path / "run")
    yield found
    found.close()
    assert torch.autograd.backward is before


def backward(model, x):
    model(x).square().mean().backward()


def test_a_loop_that_updates_by_hand_is_watched(watching, tmp_path):
    model, other, x = net(), net(), torch.randn(16, 4)
    for _ in range(30):
        backward(model, x)
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.05 * p.grad
                p.grad = None
    monitor, = watching.monitors
    assert monitor.model is model and monitor.problem is None
    assert monitor.steps > 20 and (tmp_path / "run").exists()
    assert other[0].weight.grad is None
    assert summary(watching).startswith("watched ")


def test_gradients_that_gather_for_an_optimizer_are_its_own(watching):
    model, x = net(), torch.randn(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        for _ in range(5):
            backward(model, x)
            assert step or watching.monitors == []
        optimizer.step()
        optimizer.zero_grad()
    monitor, = watching.monitors
    assert monitor.steps == 2  # from the second on


def test_gradients_that_change_nothing_are_no_training(watching):
    model = net()
    for _ in range(10):
        x = torch.randn(16, 4, requires_grad=True)
        backward(model, x)
    assert watching.monitors == []
    assert "no weight changed" in summary(watching)


def test_workers_that_trained_are_named_where_the_script_itself_did_not(watching, tmp_path):
    assert "nothing was watched" in summary(watching)
    for folder in (tmp_path / "run", tmp_path / "run" / "process-7"):
        folder.mkdir()
        (folder / "frames.db").write_bytes(b"")

    assert summary(watching).endswith(f"whyloss health {tmp_path / 'run'}; whyloss health {tmp_path / 'run' / 'process-7'}")


def test_a_mistake_of_ours_does_not_end_the_scripts_backward(watching, monkeypatch):
    monkeypatch.setattr("whyloss.sources.names.owners", lambda: 1 / 0)
    model = net()
    for _ in range(3):
        backward(model, torch.randn(16, 4))
    assert model[0].weight.grad is not None and watching.monitors == []


def test_a_copy_that_is_gone_is_no_matter(watching):
    for _ in range(3):
        backward(net(), torch.randn(16, 4))
    assert watching.monitors == []
