"""Steps that are frozen: when, what of, and that nothing of it reaches the training."""

import math
import threading

import pytest
import torch
from torch import nn

from whyloss.alerts import StopTraining
from whyloss.errors import CannotReplay
from whyloss.laboratory.lab import open_laboratory
from whyloss.sources import place
from whyloss.sources.frozen import file
from whyloss.sources.frozen.reading import thaw
from whyloss.sources.monitor import Monitor
from whyloss.sources.monitor.freezing import joined

X = torch.randn(64, 5, generator=torch.Generator().manual_seed(1))
Y = X[:, :1] - X[:, 1:2]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(5, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


def squared(out, y, _step=0):
    return ((out - y) ** 2).mean()


def train(model, optimizer, steps, loss_of=squared, first=0):
    for step in range(first, first + steps):
        rows = torch.arange(16 * step, 16 * step + 16) % 64
        loss = loss_of(model(X[rows]), Y[rows], step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.fixture
def training():
    torch.manual_seed(0)
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=0.05)


def test_a_frozen_step_can_be_run_again_from_the_file(training, tmp_path):
    model, optimizer = training
    before = [p.detach().clone() for p in model.parameters()]
    with Monitor(model, optimizer) as monitor:
        monitor.freeze(tmp_path / "a.whyloss", steps=5)
        train(model, optimizer, 30)

    saved = file.read(tmp_path / "a.whyloss")
    program = thaw(saved)
    assert saved.about["step"] == 0 and saved.about["steps"] == 5 and saved.about["devices"] == ["cpu"]
    assert program.check_faithful() is None and len(program.whole_tapes()) == 5
    assert all(torch.equal(a, b) for a, b in zip(before, next(iter(program.modules.values())).parameters()))
    lab = open_laboratory(program, saved.evidence)
    assert lab.possible() is None and lab.control(steps=40)[-1] < 0.5 * lab.control(steps=40)[0]
    assert monitor.problem is None and monitor.cost.freezing > 0


def test_a_step_frozen_in_the_middle_starts_there_and_knows_the_losses_around_it(training, tmp_path):
    model, optimizer = training
    with Monitor(model, optimizer) as monitor:
        train(model, optimizer, 20)
        monitor.freeze(tmp_path, steps=5)
        train(model, optimizer, 20, first=20)

    (path,) = monitor.frozen
    saved = file.read(path)
    assert path.name == "step-21.whyloss" and saved.about["step"] == 21  # one step may have been under way
    assert saved.evidence.series("loss").steps == list(range(40))
    assert thaw(saved).check_faithful() is None


def test_asked_for_inside_a_step_it_begins_with_the_next(training, tmp_path):
    model, optimizer = training
    with Monitor(model, optimizer) as monitor:
        train(model, optimizer, 6, lambda out, y, step: (monitor.freeze(tmp_path, steps=2) if step == 3 else None, squared(out, y))[1])

    assert thaw(file.read(monitor.frozen[0])).check_faithful() is None


def test_a_training_that_ends_early_leaves_what_was_seen(training, tmp_path):
    model, optimizer = training
    with pytest.raises(RuntimeError, match="mine"), Monitor(model, optimizer) as monitor:
        monitor.freeze(tmp_path)
        train(model, optimizer, 3)
        raise RuntimeError("mine")

    assert file.read(monitor.frozen[0]).about["steps"] == 3
    assert torch.autograd.backward.__module__ == "torch.autograd"
    with Monitor(model, optimizer) as again:
        train(model, optimizer, 1, lambda out, y, step: sum(out) * 0 + 1)
    assert again.history.series("loss").values == [1.0]


def test_a_loop_without_an_optimizer_ends_its_file_too(training, tmp_path):
    model, _ = training
    with Monitor(model) as monitor:
        monitor.freeze(tmp_path, steps=4)
        for _ in range(40):
            squared(model(X), Y).backward()
        assert len(monitor.frozen) == 1


def test_nothing_stays_on_the_model_or_in_torch(training, tmp_path):
    model, optimizer = training
    patched = nn.Module.__call__, torch.autograd.backward, torch.optim.Optimizer.zero_grad
    with Monitor(model, optimizer, freeze=tmp_path, stop_on_nonfinite=True) as monitor:
        train(model, optimizer, 3)
        monitor.freeze(tmp_path, steps=2)
        train(model, optimizer, 9)

    assert (nn.Module.__call__, torch.autograd.backward, torch.optim.Optimizer.zero_grad) == patched
    assert torch._C._len_torch_function_stack() == 0
    assert not any(part._forward_hooks or part._forward_pre_hooks or part._forward_hooks_always_called for part in model.modules())


# ---------------------------------------------------------------------- what cannot be saved
def test_a_model_that_cannot_be_copied_is_told_and_the_evidence_kept(training, tmp_path, capsys):
    model, optimizer = training
    model.lock = threading.Lock()
    with Monitor(model, optimizer) as monitor:
        monitor.freeze(tmp_path, steps=8)
        train(model, optimizer, 20)

    saved = file.read(monitor.frozen[0])
    assert not saved.whole and "lock" in saved.about["problem"]
    assert len(saved.evidence.series("loss")) == 20
    assert "without the step itself" in capsys.readouterr().err and monitor.problem is None
    with pytest.raises(CannotReplay):
        thaw(saved)


def test_a_model_that_can_be_copied_but_not_pickled_is_told(training, tmp_path):
    model, optimizer = training
    scope: dict = {}
    exec("made = lambda x: x", scope)
    model.act = scope["made"]
    with Monitor(model, optimizer) as monitor:
        monitor.freeze(tmp_path, steps=2)
        train(model, optimizer, 4)

    assert "cannot be saved: no source" in file.read(monitor.frozen[0]).about["problem"]


def test_a_folder_that_cannot_be_written_ends_nothing(training, tmp_path, capsys):
    model, optimizer = training
    (tmp_path / "taken").write_text("")
    with Monitor(model, optimizer) as monitor:
        monitor.freeze(tmp_path / "taken" / "a.whyloss", steps=2)
        train(model, optimizer, 9)

    assert monitor.steps == 9 and monitor.problem is None and monitor.frozen == []
    assert capsys.readouterr().err.count("was not frozen") == 1


# ---------------------------------------------------------------------- alerts
def test_a_diverging_loss_freezes_steps_with_the_weights_from_before(training, tmp_path):
    model, optimizer = training
    with Monitor(model, optimizer, freeze=tmp_path, every=1000) as monitor:  # a sample more, and losses are judged at other steps
        train(model, optimizer, 120)
        optimizer.param_groups[0]["lr"] = 0.9
        train(model, optimizer, 120, first=120)

    path = monitor.frozen[0]
    saved = file.read(path)
    program = thaw(saved)
    assert path.name.startswith("loss-diverging") and saved.about["weights"] <= 120 < saved.about["step"]
    arm = program.fresh()
    (twin,) = arm.modules.values()
    assert squared(twin(X), Y).item() < 3  # millions of times less than when the alert was raised
    assert {e.data["settings"][0]["lr"] for e in program.events if e.kind == "step"} == {0.9}


def test_without_being_asked_nothing_is_frozen_and_no_hook_is_on(training):
    model, optimizer = training
    with Monitor(model, optimizer, every=5) as monitor:
        train(model, optimizer, 3)
        assert monitor.freezer is None
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


# ---------------------------------------------------------------------- the first value that is not finite
def logarithm(out, y, step):
    return torch.log(torch.relu(out) * (step != 6)).mean() if step >= 6 else squared(out, y)


def test_a_loss_that_is_not_finite_says_which_operation_made_it_at_which_line(training):
    model, optimizer = training
    with pytest.raises(StopTraining) as stopped, Monitor(model, optimizer, stop_on_nonfinite=True):
        train(model, optimizer, 9, logarithm)

    line = logarithm.__code__.co_firstlineno + 1
    assert f"first in log at {place.shown(__file__)}:{line}" in str(stopped.value)
    assert "with 16 zeros" in str(stopped.value)
    assert torch._C._len_torch_function_stack() == 0


def test_it_says_the_same_without_stopping_and_only_once(training, tmp_path):
    model, optimizer = training
    with Monitor(model, optimizer, freeze=tmp_path) as monitor:
        train(model, optimizer, 12, logarithm)

    first = monitor.alerts[0]
    assert (first.kind, first.step) == ("loss-not-finite", 6) and "first in log" in first.message
    assert [path.name for path in monitor.frozen] == ["loss-not-finite-6.whyloss"]
    fact = file.read(monitor.frozen[0]).evidence.fact("first_non_finite")
    assert (fact["kind"], fact["step"], fact["root"]) == ("log-of-zero", 6, "operation")


class Rooted(Net):
    def forward(self, x):
        return self.outer(torch.sqrt((self.inner(x) * 0).abs()))


def test_a_gradient_that_is_not_finite_stops_before_the_step(tmp_path):
    torch.manual_seed(0)
    model = Rooted()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(StopTraining) as stopped, Monitor(model, optimizer, stop_on_nonfinite=True):
        train(model, optimizer, 9)

    assert stopped.value.alert.kind == "gradient-not-finite" and "first in sqrt in the backward pass" in str(stopped.value)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))


class Bad(nn.Module):
    def forward(self, x):
        return torch.log(x - x)


def test_the_layer_is_named_where_the_value_was_made_inside_the_model():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4), nn.Sequential(nn.Tanh(), Bad()), nn.Linear(4, 1))
    with pytest.raises(StopTraining, match=r"first in log at .*test_freezing.py:\d+ of 1.1"), Monitor(model, stop_on_nonfinite=True):
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1)


def test_a_batch_that_was_overwritten_is_no_ground_for_a_wrong_answer(training):
    model, optimizer = training
    buffer = torch.ones(16, 5)
    with pytest.raises(StopTraining) as stopped, Monitor(model, optimizer, stop_on_nonfinite=True):
        loss = torch.log(model(buffer) - 100).sum()
        buffer.zero_()
        loss.backward()

    assert "first in log" in str(stopped.value)   # as the graph tells it


def test_a_scaler_that_skips_steps_stops_nothing(training):
    model, optimizer = training
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
    with Monitor(model, optimizer, stop_on_nonfinite=True) as monitor:
        for _ in range(6):
            optimizer.zero_grad()
            scaler.scale(squared(model(X), Y) * 1e6).backward()
            scaler.step(optimizer)
            scaler.update()
    assert monitor.alerts == [] and monitor.problem is None


def test_the_step_is_held_only_until_it_is_made(training):
    model, optimizer = training
    with Monitor(model, optimizer, stop_on_nonfinite=True) as monitor:
        train(model, optimizer, 3)
        assert monitor.freezer.rolling.held == [] and monitor.freezer.rolling.recorder.window is None
        for _ in range(50):
            model(X)  # evaluated with gradients, never backward
        assert len(monitor.freezer.rolling.recorder.window.roots) <= 4
    assert monitor.problem is None


def test_losses_that_mean_different_numbers_are_not_joined():
    from whyloss.evidence import Evidence

    history, seen = Evidence(), Evidence()
    for step in range(20):
        history.add("loss", 4.0, step=step)
    for step in range(5, 10):
        seen.add("loss", 1.0, step=step)
    assert joined(history, seen).series("loss").steps == list(range(5, 10))
    same = Evidence()
    for step in range(5, 10):
        same.add("loss", 4.0, step=step)
    whole = joined(history, same).series("loss")
    assert whole.steps == list(range(20)) and math.isclose(sum(whole.values), 80)


def test_losses_are_matched_in_turn_where_steps_are_counted_differently():
    from whyloss.evidence import Evidence

    history, seen = Evidence(), Evidence()
    for step in range(20):
        history.add("loss", 4.0 / (step + 1), step=step)
    for at in range(16):  # two backward passes a step, of half the loss each
        seen.add("loss", 2.0 / (at // 2 + 6), step=40 + at)
    whole = joined(history, seen).series("loss")
    assert whole.steps == [30, 32, 34, 36, 38, *range(40, 56), *range(56, 70, 2)]
    assert math.isclose(whole.values[0], 2.0) and math.isclose(whole.values[-1], 0.1)
