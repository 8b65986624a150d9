"""What the monitor measures is what is there; what it cannot see it says; what goes wrong in it ends only the watching."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from whyloss.alerts import StopTraining
from whyloss.errors import BadInput
from whyloss.sources.framefile import is_absent
from whyloss.sources.monitor import Monitor

X, Y = torch.randn(32, 12, generator=torch.Generator().manual_seed(1)), torch.randint(0, 4, (32,), generator=torch.Generator().manual_seed(2))


class Ledger:
    """Remembers what it was given."""

    def __init__(self):
        self.names, self.frames, self.events, self.closed, self.problem = [], [], [], False, None

    def columns(self, columns):
        self.names = columns

    def frame(self, step, values, seconds):
        self.frames.append((step, values, seconds))

    def event(self, step, kind, data):
        self.events.append((step, kind, data))

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def net(width=20):
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, 4))


def train(model, optimizer, steps=4, x=X, loss_of=None):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model) if loss_of else nn.functional.cross_entropy(model(x), Y)
        loss.backward()
        optimizer.step()


def values(monitor, quantity, subject):
    return monitor.history.series(quantity, subject).values


def hooks(model) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) + len(m._backward_hooks) for m in model.modules())


# ---------------------------------------------------------------------- the numbers
@pytest.mark.parametrize("exact", [False, True], ids=["sampled", "exact"])
@pytest.mark.parametrize("width", [20, 2000], ids=["small", "big"])
def test_every_number_is_the_one_computed_by_hand(width, exact):
    model = net(width)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with Monitor(model, optimizer, every=1, exact=exact) as monitor:
        optimizer.zero_grad()
        hidden = model[0](X)
        loss = nn.functional.cross_entropy(model(X), Y)
        loss.backward()
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        gradients = {n: float(p.grad.norm()) for n, p in model.named_parameters()}
        optimizer.step()
    near = 0.0 if exact or width == 20 else 0.06
    assert values(monitor, "loss", "run") == [pytest.approx(loss.item(), rel=1e-6)]
    assert values(monitor, "grad_norm", "run")[0] == pytest.approx(math.sqrt(sum(g * g for g in gradients.values())), rel=1e-4)
    assert values(monitor, "learning_rate", "Adam.group0")[0] == pytest.approx(1e-2)
    for name, parameter in model.named_parameters():
        assert values(monitor, "grad_norm", name)[0] == pytest.approx(gradients[name], rel=1e-4)
        assert values(monitor, "weight_norm", name)[0] == pytest.approx(float(before[name].norm()), rel=max(near, 1e-4))
        change = float((parameter.detach() - before[name]).norm() / before[name].norm())
        assert values(monitor, "update_ratio", name)[0] == pytest.approx(change, rel=max(near, 1e-3))
    assert values(monitor, "activation_mean", "0")[0] == pytest.approx(hidden.mean().item(), abs=max(near, 1e-5) * hidden.std().item())
    assert values(monitor, "activation_std", "0")[0] == pytest.approx(hidden.std().item(), rel=max(near, 1e-3))
    assert values(monitor, "active_share", "1")[0] == pytest.approx((hidden > 0).float().mean().item(), abs=max(near, 1e-3))
    assert values(monitor, "dead_share", "1")[0] == pytest.approx((hidden <= 0).all(0).float().mean().item(), abs=1e-6)


def test_channels_of_pictures_are_units_whatever_their_memory_order():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
    with torch.no_grad():
        model[0].weight[:3], model[0].bias[:3] = 0, -1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for size in (4, 40, 80):  # a few, many, and so many entries that a part of the batch is looked at first
        for memory in (torch.contiguous_format, torch.channels_last):
            x = torch.randn(16, 3, size, size).contiguous(memory_format=memory)
            with Monitor(model, optimizer, every=1) as monitor:
                train(model, optimizer, 1, loss_of=lambda m, x=x: m(x).square().mean())
            assert values(monitor, "dead_share", "1") == [pytest.approx(3 / 8)]
            assert values(monitor, "activation_mean", "0")[0] == pytest.approx(model[0](x).mean().item(), abs=0.05)


def test_a_unit_that_lives_late_in_a_batch_is_not_dead():
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU())
    with torch.no_grad():
        model[0].weight.fill_(1.0), model[0].bias.copy_(torch.tensor([0.0, 0.0, -1e3, 0.0]))
    x = -torch.ones(64, 3, 48, 48)
    x[-1, :, -1, -1] = 1.0  # one place of one picture
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 1, loss_of=lambda m: m(x).sum())
    assert values(monitor, "dead_share", "1") == [pytest.approx(1 / 4)]


@pytest.mark.parametrize("exact", [False, True], ids=["sampled", "exact"])
@pytest.mark.parametrize("width", [20, 2000], ids=["small", "big"])
def test_a_deviation_is_right_however_far_from_zero_the_mean_is(width, exact):
    model = nn.Sequential(nn.Linear(12, width), nn.Linear(width, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with torch.no_grad():
        spread = model[0](X).std().item()
    with Monitor(model, optimizer, every=1, exact=exact) as monitor:
        for offset in (0.0, 0.0, 1e3, 0.0, 0.0):  # in sizes of the deviation
            with torch.no_grad():
                model[0].bias += offset * spread
            train(model, optimizer, 2)
            with torch.no_grad():
                model[0].bias -= offset * spread
    found, means = values(monitor, "activation_std", "0"), values(monitor, "activation_mean", "0")
    assert len(means) == 10 and max(means) > 500 * spread
    assert 8 <= len(found) <= 10  # where a mean jumps, one deviation may be left out, and none is wrong
    assert found == pytest.approx([spread] * len(found), rel=0.08)


def test_a_layer_that_is_constant_has_a_deviation_of_zero():
    model = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 2)
        with torch.no_grad():
            model[0].weight.zero_(), model[0].bias.fill_(0.7)
        train(model, optimizer, 3)
    assert max(values(monitor, "activation_std", "1")[-2:]) < 1e-6


def test_many_big_layers_keep_their_own_numbers():
    layers = []
    for at in range(13):  # more than are reduced together, ReLUs among them
        layers += [nn.Linear(200, 200)] + [nn.ReLU()] * (at % 3 == 0)
        nn.init.zeros_(layers[-1 - (at % 3 == 0)].weight), nn.init.constant_(layers[-1 - (at % 3 == 0)].bias, 1.0 + at)
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 3, loss_of=lambda m: m(torch.randn(200, 200)).sum())
    expected = 0.0
    for name, layer in model.named_children():
        expected += isinstance(layer, nn.Linear)
        assert values(monitor, "activation_mean", name) == [pytest.approx(expected)] * 3
        if isinstance(layer, nn.ReLU):
            assert values(monitor, "active_share", name) == [1.0] * 3 and values(monitor, "dead_share", name) == [0.0] * 3


def test_steps_that_are_only_counted_are_steps_like_the_others():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses, seen = [], []
    with Monitor(model, optimizer, every=50) as monitor:
        for step in range(173):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(X), Y)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            if step % 7 == 0:
                seen.append((monitor.step, monitor.steps, step + 1))
    assert all(a == b == c for a, b, c in seen)
    assert monitor.sampled == 4 and monitor.history.series("grad_norm").steps == [0, 50, 100, 150]
    series = monitor.history.series("loss")
    assert series.steps == list(range(173)) and series.values == pytest.approx(losses)


def test_writers_that_show_alerts_are_told_of_them():
    class Shown(list):
        def __call__(self, step, values):
            pass

        alert = list.append

    model, writer, told = net(), Shown(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, writers=[writer], on_alert=told.append):
        train(model, optimizer, 3, loss_of=lambda m: m(X).mean() * float("nan"))
    assert writer and list(writer) == told


def test_a_module_called_several_times_is_one_number():
    layer = nn.Linear(6, 6)

    class Often(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            for _ in range(3):
                x = self.layer(x)
            return x

    model = Often()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 6)
    first = layer(x).detach()
    second = layer(first).detach()
    everything = torch.cat([first, second, layer(second).detach()])
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 1, loss_of=lambda m: m(x).square().mean())
    assert values(monitor, "activation_mean", "layer")[0] == pytest.approx(everything.mean().item(), abs=1e-5)
    assert values(monitor, "activation_std", "layer")[0] == pytest.approx(everything.std(correction=0).item(), rel=0.02)


def test_an_output_that_the_next_layer_overwrites_is_read_before():
    model = nn.Sequential(nn.Linear(12, 20), nn.ReLU(inplace=True), nn.Linear(20, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 2)
    assert values(monitor, "activation_mean", "0")[1] == pytest.approx(model[0](X).mean().item(), abs=1e-5)


def test_a_gradient_too_small_for_its_norm_is_not_called_zero():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 1, loss_of=lambda m: m(X).square().mean() * 1e-25)
    assert 0 < values(monitor, "grad_norm", "0.weight")[0] < 1e-24


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.complex64], ids=str)
def test_other_types_of_numbers(dtype):
    weight = nn.Parameter(torch.full((200, 200), 300.0).to(dtype))
    model = nn.Module()
    model.weight = weight
    optimizer = torch.optim.SGD([weight], lr=1.0)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 1, loss_of=lambda m: (m.weight.abs().float() ** 2).sum() / 2e3)
    assert monitor.problem is None
    assert values(monitor, "weight_norm", "weight")[0] == pytest.approx(60000, rel=0.02)
    assert values(monitor, "grad_norm", "weight")[0] == pytest.approx(60, rel=0.02)


def test_sparse_gradients_frozen_parameters_and_missing_gradients():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.frozen, self.unused = nn.Embedding(50, 8, sparse=True), nn.Linear(8, 8), nn.Linear(8, 8)
            self.frozen.requires_grad_(False)

        def forward(self, x):
            return self.frozen(self.words(x))

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.tensor([[1, 1, 2]])
    with Monitor(model, optimizer, every=1) as monitor:
        for _ in range(2):
            optimizer.zero_grad()
            model(tokens).square().mean().backward()
            expected = float(model.words.weight.grad.to_dense().norm())
            optimizer.step()
    assert monitor.problem is None
    assert values(monitor, "grad_norm", "words.weight")[1] == pytest.approx(expected, rel=1e-5)
    assert not monitor.history.series("grad_norm", "frozen.weight")
    assert not monitor.history.series("grad_norm", "unused.weight")
    assert values(monitor, "gradient_missing", "unused.weight") == [1.0, 1.0]


# ---------------------------------------------------------------------- the loop
def test_accumulated_losses_are_added_and_a_skipped_step_is_not():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1) as monitor:
        optimizer.zero_grad()
        expected = 0.0
        for part in range(4):
            loss = nn.functional.cross_entropy(model(X[part::4]), Y[part::4]) / 4
            loss.backward()
            expected += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        (model(X).sum() * 1e9).backward()  # this step is thrown away
        optimizer.zero_grad()
        last = nn.functional.cross_entropy(model(X), Y)
        last.backward()
        optimizer.step()
    assert values(monitor, "loss", "run") == [pytest.approx(expected, rel=1e-5), pytest.approx(last.item(), rel=1e-5)]


def test_a_scaled_loss_is_told_unscaled_and_skipped_steps_are_no_alert():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1000)
    with Monitor(model, optimizer, every=1) as monitor:
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(X), Y) * 4
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert monitor.alerts == [] and 0 < monitor.steps < 12
    assert values(monitor, "loss", "run")[-1] == pytest.approx(loss.item(), rel=1e-5)


def test_a_closure_gives_its_first_loss_and_its_last_gradient():
    model = net()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(X), Y)
        loss.backward()
        seen.append(loss.item())
        return loss

    with Monitor(model, optimizer, every=1) as monitor:
        optimizer.step(closure)
    assert values(monitor, "loss", "run") == [pytest.approx(seen[0], rel=1e-6)]
    assert values(monitor, "update_ratio", "0.weight")[0] > 0
    assert values(monitor, "grad_norm", "0.weight")[0] == pytest.approx(float(model[0].weight.grad.norm()), rel=1e-5)


def test_two_optimizers_in_turn_are_both_sampled():
    first, second = net(), nn.Linear(4, 4)
    model = nn.ModuleList([first, second])
    optimizers = [torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.Adam(second.parameters(), lr=0.1)]
    with Monitor(model, optimizers, every=4) as monitor:
        for _ in range(16):
            for optimizer in optimizers:
                for other in optimizers:
                    other.zero_grad()
                second(first(X)).square().mean().backward()
                optimizer.step()
    assert monitor.problem is None
    assert len(values(monitor, "grad_norm", "0.0.weight")) >= 5
    assert len(values(monitor, "grad_norm", "1.weight")) >= 5
    assert len(values(monitor, "loss", "run")) == len(values(monitor, "loss", "optimizer 2")) == 16


def test_another_models_steps_are_not_this_ones():
    mine, other = net(), net()
    a, b = torch.optim.SGD(mine.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)
    with Monitor(mine, every=1) as monitor:
        for _ in range(3):
            train(other, b, 1, loss_of=lambda m: m(X).square().sum() * 1e6)
            train(mine, a, 1)
    assert monitor.steps == 3
    assert max(values(monitor, "loss", "run")) < 10


def test_parameters_that_come_later_are_seen():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 3)
        model.add_module("3", nn.Linear(4, 4))
        optimizer.add_param_group({"params": model[3].parameters()})
        train(model, optimizer, 40)
    assert monitor.problem is None
    assert len(values(monitor, "grad_norm", "3.weight")) >= 8
    assert values(monitor, "activation_std", "3")


def test_evaluation_between_steps_is_not_mistaken_for_training():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Monitor(model, optimizer, every=1) as monitor:
        for _ in range(3):
            train(model, optimizer, 1)
            with torch.no_grad():
                model(X * 1e6)
            monitor.validation(None, 0.5)
    assert max(values(monitor, "activation_std", "0")) < 10
    assert values(monitor, "val_loss", "run") == [0.5] * 3


def test_checkpointed_modules_are_counted_once():
    from torch.utils.checkpoint import checkpoint
    for reentrant in (False, True):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        x = X.clone().requires_grad_()
        with Monitor(model, optimizer, every=1) as monitor:
            train(model, optimizer, 2, loss_of=lambda m, x=x, r=reentrant: nn.functional.cross_entropy(checkpoint(m, x, use_reentrant=r), Y))
        assert monitor.problem is None
        assert values(monitor, "activation_mean", "0") == [pytest.approx(model[0](X).mean().item(), abs=1e-5)] * 2


# ---------------------------------------------------------------------- on and off
def test_nothing_is_left_behind():
    before = torch.autograd.backward, torch.amp.GradScaler.scale, torch.jit.script
    from torch.optim import optimizer as module
    held = len(module._global_optimizer_pre_hooks), len(module._global_optimizer_post_hooks)
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, optimizer, every=1).attach()
    assert hooks(model) == 5  # three modules, and the sequence itself before and after
    train(model, optimizer, 2)
    monitor.close()
    monitor.close()
    assert hooks(model) == 0
    assert before == (torch.autograd.backward, torch.amp.GradScaler.scale, torch.jit.script)
    assert held == (len(module._global_optimizer_pre_hooks), len(module._global_optimizer_post_hooks))
    train(model, optimizer, 2)
    assert monitor.steps == 2


def test_between_samples_no_hook_sits_on_a_module():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=5):
        counts = []
        for _ in range(11):
            counts.append(hooks(model))
            train(model, optimizer, 1)
    assert counts == [5, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4]  # at first also on the ReLU


def test_a_copy_of_the_model_in_a_sampled_step_is_deaf():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Monitor(model, optimizer, every=1) as monitor:
        twin, pickled = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
        twin(X * 1e6)
        pickled(X * 1e6)
        train(model, optimizer, 1)
    assert values(monitor, "activation_std", "0")[0] < 10


def test_a_model_that_is_pickled_in_a_sampled_step_is_loaded_without_us(tmp_path):
    model = nn.Sequential(nn.Linear(12, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1):
        train(model, optimizer, 2)
        torch.save(model, tmp_path / "model.pt")
    code = "import sys; sys.modules['whyloss'] = None\nimport torch; print(torch.load(sys.argv[1], weights_only=False)(torch.ones(1, 12)).shape)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.pt")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "[1, 4]" in done.stdout


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning", "error::torch.jit.TracerWarning")
def test_a_model_is_exported_in_a_sampled_step():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1) as monitor:
        twin = copy.deepcopy(model)  # with what stands for our hooks
        for _ in range(3):
            train(model, optimizer, 1)
            for of in (model, twin):
                for exported in (torch.jit.trace(of, X), torch.jit.script(of)):
                    assert torch.equal(exported(X), of(X))

        @torch.jit.script
        def double(x):
            return 2 * x
        assert double(X).sum() == 2 * X.sum()
        train(model, optimizer, 2)
    assert monitor.problem is None
    assert len(values(monitor, "activation_std", "0")) > 1


def test_an_error_of_ours_is_told_once_and_the_training_goes_on(capsys, monkeypatch):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1, ledger=(ledger := Ledger())) as monitor:
        train(model, optimizer, 1)

        def broken(*_):
            raise ValueError("a mistake")

        monkeypatch.setattr(type(monitor.sampler.entries), "gather", broken)
        monkeypatch.setattr(type(monitor.sampler.activations), "flush_small", broken)
        monkeypatch.setattr("whyloss.sources.monitor.parameters.row_norms", broken)
        train(model, optimizer, 3)
    assert monitor.problem == "ValueError: a mistake"
    assert capsys.readouterr().err.count("switched off") == 1
    assert hooks(model) == 0
    assert ledger.closed and ledger.events[-1][1] == "problem"


def test_an_error_in_a_callback_ends_the_watching_only():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1, writers=[lambda step, row: 1 / 0]) as monitor:
        train(model, optimizer, 3)
    assert "ZeroDivisionError" in monitor.problem


def test_memory_does_not_grow_with_the_steps():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Monitor(model, optimizer, every=1) as monitor:
        train(model, optimizer, 50)
        monitor._history.limit = 64
        train(model, optimizer, 400)
        assert len(monitor._history) <= 64
        assert len(monitor._told) < 32 and len(monitor.landing.unjudged) < 32
    steps = monitor.history.series("grad_norm", "0.weight").steps
    assert steps[0] == 0 and steps[-1] == 449 and len(steps) <= 64


# ---------------------------------------------------------------------- what goes out
def test_frames_go_to_the_ledger_and_the_writers():
    model, ledger, rows = net(), Ledger(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=2, ledger=ledger, writers=[lambda step, row: rows.append((step, row))]):
        train(model, optimizer, 5)
    assert [step for step, *_ in ledger.frames] == [0, 2, 4]
    assert ledger.names[0] == ("loss", "run") and all(len(v) == len(ledger.names) for _, v, _ in ledger.frames)
    assert ledger.frames[0][1].dtype == np.float32
    absent = is_absent(ledger.frames[0][1])
    assert [key for key, gone in zip(ledger.names, absent) if gone] == [("val_loss", "run")]
    assert [step for step, _ in rows] == [0, 2, 4] and rows[0][1]["grad_norm/0.weight"] > 0
    assert ledger.closed


def test_only_the_quantities_that_were_asked_for():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1, quantities=["loss", "grad_norm"]) as monitor:
        assert hooks(model) == 0
        train(model, optimizer, 2)
    assert values(monitor, "grad_norm", "0.weight") and not monitor.history.by_subject("activation_std")


def test_the_first_non_finite_loss_is_told_with_the_operation_that_made_it(capsys):
    model, told = net(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, on_alert=told.append) as monitor:
        train(model, optimizer, 2)
        train(model, optimizer, 3, loss_of=lambda m: (torch.softmax(m(X) * 1e6, 1) + 0.0).log().mean())
    assert [alert.kind for alert in told][0] == "loss-not-finite"
    assert "first in log" in told[0].message and "zeros" in told[0].message
    assert capsys.readouterr().err.count("loss-not-finite") == 1
    assert monitor.steps == 5


def test_training_is_stopped_only_where_that_was_asked_for():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(StopTraining) as stopped:
        with Monitor(model, optimizer, stop_on_nonfinite=True):
            train(model, optimizer, 2)
            train(model, optimizer, 1, loss_of=lambda m: torch.sqrt(m(X) - 100).sum())
    assert "first in sqrt" in str(stopped.value)
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert hooks(model) == 0


def test_wrong_use_says_what_would_do():
    with pytest.raises(BadInput, match="torch.nn.Module"):
        Monitor([1])
    with pytest.raises(BadInput, match="there are loss"):
        Monitor(net(), quantities=["losses"])
    with pytest.raises(BadInput, match="every"):
        Monitor(net(), every=0)


# ---------------------------------------------------------------------- ReLUs that are functions
class Residual(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        hidden = nn.functional.relu(self.a(x))
        return torch.relu(self.b(hidden) + x)


class Skipping(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.act, self.out, self.used = nn.ModuleList(Residual() for _ in range(3)), nn.ReLU(), nn.Linear(16, 4), [0, 1, 2]

    def forward(self, x):
        for at in self.used:
            x = self.blocks[at](x)
        return self.out(self.act(x))


def test_a_relu_that_is_called_as_a_function_is_heard_under_its_module_s_name():
    model, x = Skipping(), torch.randn(32, 16)
    original = nn.functional.relu, torch.relu
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with torch.no_grad():
        model.blocks[1].a.weight.zero_(), model.blocks[1].a.bias.copy_(torch.tensor([1.0] * 12 + [-1.0] * 4))
    with Monitor(model, optimizer, every=2) as monitor:
        train(model, optimizer, 2, loss_of=lambda m: m(x).square().mean())  # the first sample only looks whether anything is compiled
        train(model, optimizer, 1, loss_of=lambda m: m(x).square().mean() + nn.functional.relu(m.out.bias).sum())  # the last one is no layer's
        assert (nn.functional.relu, torch.relu) == original  # nothing is replaced in a step that is not sampled
        train(model, optimizer, 1, loss_of=lambda m: m(x).square().mean())
        model.used = [0, 2]
        train(model, optimizer, 1, loss_of=lambda m: m(x).square().mean())
    assert (nn.functional.relu, torch.relu) == original and monitor.problem is None
    heard = {subject for quantity, subject in monitor.sampler.columns if quantity == "dead_share"}
    assert heard == {"act"} | {f"blocks.{at}.relu{more}" for at in range(3) for more in ("", " 2")}
    assert values(monitor, "dead_share", "blocks.1.relu") == [pytest.approx(4 / 16)]  # once: later its block is skipped
    assert values(monitor, "active_share", "blocks.1.relu") == [pytest.approx(12 / 16)]
    hidden = nn.functional.relu(model.blocks[0].a(x))
    assert values(monitor, "active_share", "blocks.0.relu") == [pytest.approx((hidden > 0).float().mean().item())] * 2
    assert len(values(monitor, "active_share", "blocks.2.relu 2")) == 2


def test_two_monitors_of_one_process_leave_the_functions_as_they_were():
    original = nn.functional.relu
    models = [Residual(), Residual()]
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.01) for m in models]
    x = torch.randn(32, 16)
    first, second = (Monitor(m, o, every=1).attach() for m, o in zip(models, optimizers))
    for _ in range(3):
        for model, optimizer in zip(models, optimizers):
            train(model, optimizer, 1, loss_of=lambda m: m(x).square().mean())
    first.close()
    train(models[1], optimizers[1], 1, loss_of=lambda m: m(x).square().mean())
    second.close()
    assert nn.functional.relu is original
    assert [len(values(m, "dead_share", "relu")) for m in (first, second)] == [2, 3]


# ---------------------------------------------------------------------- loops without an optimizer
def by_hand(model, steps, rate=0.1, parts=1, seen=None):
    for _ in range(steps):
        for p in model.parameters():
            p.grad = None
        for _part in range(parts):
            loss = nn.functional.cross_entropy(model(X), Y) / parts
            loss.backward()
        if seen is not None:
            seen.append((loss.item() * parts, [p.detach().clone() for p in model.parameters()], [p.grad.clone() for p in model.parameters()]))
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad


@pytest.mark.parametrize("parts", [1, 3])
def test_a_loop_that_updates_by_hand_is_watched_too(parts):
    model, seen = net(), []
    with Monitor(model, every=1) as monitor:
        by_hand(model, 12, parts=parts, seen=seen)
    assert monitor.problem is None and monitor.not_observed == {} and hooks(model) == 0
    steps = monitor.history.series("grad_norm", "0.weight").steps
    assert len(steps) >= 8
    known = seen[-1 - len(steps):-1]  # the last step has no forward behind it that could end it
    norms = [float(gradients[0].norm()) for _loss, _weights, gradients in known]
    assert values(monitor, "grad_norm", "0.weight") == pytest.approx(norms, rel=1e-4)
    ratios = [0.1 * n / float(weights[0].norm()) for n, (_loss, weights, _gradients) in zip(norms, known)]
    assert values(monitor, "update_ratio", "0.weight") == pytest.approx(ratios, rel=1e-3)
    assert len(values(monitor, "activation_std", "0")) >= len(steps) - 1


def test_an_optimizer_that_steps_rarely_is_no_loop_by_hand():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model) as monitor:
        for part in range(200):
            nn.functional.cross_entropy(model(X), Y).backward()
            if part % 100 == 99:
                optimizer.step()
                optimizer.zero_grad()
    assert monitor.steps == 2 and monitor.hand is None


def test_that_nothing_was_stepped_is_said():
    model = net()
    with Monitor(model) as monitor:
        for _ in range(5):
            nn.functional.cross_entropy(model(X), Y).backward()
    assert "no optimizer stepped" in monitor.not_observed["steps"]


def test_tensors_of_a_class_of_the_users_are_read_without_its_being_told():
    heard = set()

    class Heard(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.add(getattr(func, "__name__", "?"))
            return super().__torch_function__(func, types, args, kwargs or {})

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Monitor(model, optimizer, every=1) as monitor:
        for _ in range(4):
            model(torch.randn(16, 4).as_subclass(Heard)).as_subclass(torch.Tensor).mean().backward()
            optimizer.step()
    assert monitor.problem is None and monitor.sampled >= 3
    assert not heard & {"numpy", "std", "stack", "untyped_storage", "is_complex"}
