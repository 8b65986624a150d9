"""The captured step: trained on a copy, the recorded loop gives the script's own losses; where it cannot, it says why."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from whyloss.laboratory.sandbox import Plan, Rehearsal, untouched
from whyloss.sources.watch import Watch

spec = importlib.util.spec_from_file_location("loops_for_capture", Path(__file__).with_name("loops.py"))
loops = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loops)


class SameNoise(Rehearsal):
    """Draws the random numbers of every step as the script drew them."""

    def _backward(self, window):
        torch.set_rng_state(self.tapes[window].rng)
        return super()._backward(window)


def watched(function):
    """(watch, losses) of one loop."""
    torch.manual_seed(11)
    watch = Watch().start()
    try:
        losses = function()
    finally:
        watch.stop()
    assert watch.errors == []
    return watch, losses


def rehearsed(program, count: int) -> list[float]:
    with untouched():
        rehearsal = SameNoise(program, Plan())
        while len(rehearsal.losses) < count:
            rehearsal.train(rehearsal.steps + 1, deadline=float("inf"))
    return rehearsal.losses[:count]


@pytest.mark.parametrize("name", loops.LOOPS)
def test_a_copy_trained_along_the_recording_has_the_scripts_own_losses(name):
    watch, losses = watched(loops.LOOPS[name])

    assert watch.program.ready() is None
    assert len(watch.program.whole_tapes()) == len(losses)
    assert watch.program.check_faithful() is None
    assert rehearsed(watch.program, len(losses)) == pytest.approx(losses, rel=1e-4, abs=1e-5)


def test_a_loop_of_autograd_grad_alone_is_observed_and_says_why_it_cannot_be_replayed():
    def train():
        w = torch.zeros(3, requires_grad=True)
        for _ in range(6):
            loss = (w - 1).pow(2).sum()
            gradient, = torch.autograd.grad(loss, w)
            w = (w - 0.1 * gradient).detach().requires_grad_()

    watch, _ = watched(train)
    assert watch.program.ready() == "no training step was captured"


def test_points_to_differentiate_at_are_no_parameters():
    watch, _ = watched(loops.LOOPS["physics_residual"])
    assert sum(leaf.dim() == 2 and leaf.shape == (32, 1) for leaf in watch.program.fresh().leaves.values()) == 0


def test_a_network_of_foreign_gradients_is_not_replayed_silently():
    model, other = torch.nn.Linear(3, 1), torch.nn.Linear(3, 3)
    hidden = other(torch.ones(4, 3))  # computed before anybody watches

    def train():
        loss = model(hidden).mean()
        loss.backward()
        return [loss.item()]

    watch, _ = watched(train)
    assert "before the recording began" in watch.program.ready()


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning", "error::torch.jit.TracerWarning")
@pytest.mark.parametrize("export", [lambda model, x: torch.jit.trace(model, x), lambda model, x: torch.jit.script(model),
                                    lambda model, x: torch.fx.symbolic_trace(model), lambda model, x: torch.export.export(model, (x,)).module()],
                         ids=["trace", "script", "fx", "export"])
def test_a_model_that_is_exported_while_it_trains_is_exported_as_ever(export):
    def train():
        model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
        optimizer, x, losses = torch.optim.SGD(model.parameters(), lr=0.05), torch.randn(16, 4), []
        for _ in range(5):
            assert torch.equal(export(model, x)(x), model(x))  # before a step, between steps and inside of one
            loss = model(x).square().mean()
            assert torch.equal(export(model, x)(x), model(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses
    watch, losses = watched(train)

    assert len(losses) == watch.step_count == 5


def test_a_deep_model_passes_and_one_that_recurs_for_ever_ends():
    class Nested(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)

        def forward(self, x, times):
            return self.inner(x) if times == 0 else self(x, times - 1)

    def train():
        model, limit = Nested(), sys.getrecursionlimit()
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
        for _ in range(3):
            loss = model(torch.ones(4, 3), 150).square().mean()  # ends within Python's limit, without us
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with pytest.raises(RecursionError):
            model(torch.ones(4, 3), -1)
        assert sys.getrecursionlimit() == limit
        return losses
    watched(train)


def test_a_step_that_raises_and_is_caught_leaves_the_next_ones_heard():
    class Moody(torch.optim.SGD):
        def step(self, closure=None):
            if moods.pop(0):
                raise ValueError("not now")
            super().step()

    moods = [False, True, True, False, False, False, False]

    def train():
        model = torch.nn.Linear(3, 1)
        optimizer, losses = Moody(model.parameters(), lr=0.1), []
        while moods:
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).square().mean()
            loss.backward()
            try:
                optimizer.step()
            except ValueError:
                pass
            losses.append(loss.item())
        return losses
    watch, losses = watched(train)

    assert len(losses) == 7 and watch.step_count == 5 and watch.recorder.paused == 0
    assert watch.window_count >= 5
