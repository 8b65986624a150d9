"""What is told of odd steps is what a plain computation gives: calls of several sizes, members called by themselves, empty batches."""

import pytest
import torch
from torch import nn

from whyloss.sources.monitor import Monitor
from whyloss.sources.monitor.tap import CALLS


def mlp(width=16, out=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out))


def by_hand(outputs):
    """-> mean, std, active share, dead share of several calls of one module, as they are told"""
    outputs = [o.double() for o in outputs if o.numel() > 1][:CALLS]
    mean = sum(float(o.sum()) for o in outputs) / sum(o.numel() for o in outputs)
    square = sum(o.numel() * (float(o.var()) + float(o.mean()) ** 2) for o in outputs) / sum(o.numel() for o in outputs)
    active = sum(int((o > 0).sum()) for o in outputs) / sum(o.numel() for o in outputs)
    units = [float((~(o > 0).any(0)).double().mean()) for o in outputs if o.dim() == 2]
    return mean, max(square - mean * mean, 0.0) ** 0.5, active, min(units, default=0.0)


def compared(model, loss, steps=9, optimizer=None, **how):
    """Every number of every module against one computed by hand, from the outputs that `loss(step, note)` hands to `note(name, output)`.

    -> the monitor"""
    optimizer, expected = optimizer or torch.optim.SGD(model.parameters(), lr=0.01), {}
    with Monitor(model, optimizer, every=1, **how) as monitor:
        for step in range(steps):
            heard = {}
            optimizer.zero_grad()
            loss(step, lambda name, output, heard=heard: heard.setdefault(name, []).append(output.detach().clone())).backward()
            optimizer.step()
            for name, outputs in heard.items():
                expected[name, step] = by_hand(outputs)
    assert monitor.problem is None
    found = {(o.quantity, o.subject, o.step): o.value for o in monitor.history}
    for (name, step), numbers in expected.items():
        for quantity, value in zip(("activation_mean", "activation_std", "active_share", "dead_share"), numbers):
            if quantity.startswith("activation") or (quantity, name, step) in found:
                assert found[quantity, name, step] == pytest.approx(value, rel=1e-3, abs=1e-4), (quantity, name, step)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    return monitor


def run(model, x, note):
    """Through a Sequential as a whole; what its members give is computed aside."""
    with torch.no_grad():
        h = x
        for at, module in enumerate(model):
            h = module(h)
            note(str(at), h)
    return model(x).square().mean()


def test_calls_of_different_sizes_count_by_their_entries():
    model = mlp()

    def loss(step, note):
        sizes = [(32,), (4, 40), (32, 4), (7,)][step % 4] if step > 2 else (32,)
        return sum(run(model, torch.randn(size, 6) * (at + 1) + at, note) for at, size in enumerate(sizes))
    compared(model, loss, 14)


@pytest.mark.parametrize("first", [False, True], ids=["after", "before"])
def test_a_member_called_by_itself_counts_too(first):
    model = mlp()

    def alone(note):
        out = model[4](torch.randn(8, 16) * 5 + 3)
        note("4", out)
        return out.square().mean()

    def loss(step, note):
        if step < 3:
            return run(model, torch.randn(32, 6), note)
        if first:
            return alone(note) + run(model, torch.randn(32, 6), note)
        return run(model, torch.randn(32, 6), note) + alone(note)
    compared(model, loss)


@pytest.mark.parametrize("sizes", [(32, 1), (8, 0)], ids=["one example", "none"])
def test_a_batch_of_next_to_nothing(sizes):
    model = mlp(out=1)

    def loss(step, note):
        x = torch.randn(sizes[step % 4 == 3], 6)
        return run(model, x, note if len(x) > 1 else lambda name, output: None).nan_to_num()
    compared(model, loss)


def test_the_first_of_several_calls_may_be_of_one_number():
    model = mlp(out=1)

    def loss(step, note):
        return run(model, torch.randn(1 if step > 3 else 32, 6), note) + run(model, torch.randn(9, 6) + 1, note)
    compared(model, loss)


def test_another_memory_format_than_in_the_steps_before():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Tanh())

    def loss(step, note):
        form = torch.channels_last if step % 3 == 2 else torch.contiguous_format
        return run(model, torch.randn(6, 3, 8, 8).to(memory_format=form), note)
    compared(model, loss)


def test_every_entry_of_batches_that_differ_in_size():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 128), nn.Tanh(), nn.Linear(128, 128))
    compared(model, lambda step, note: run(model, torch.randn(300 if step % 3 else 150, 6), note), exact=True)


class Frozen(nn.Linear):
    @torch.inference_mode()
    def forward(self, x):
        return super().forward(x)


class Copied(nn.Module):
    def forward(self, x):
        return x.clone()


def test_a_member_that_runs_in_inference_mode():
    torch.manual_seed(1)
    model = nn.Sequential(Frozen(6, 6), Copied(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))
    compared(model, lambda step, note: run(model, torch.randn(32, 6), note), optimizer=torch.optim.SGD(model[2:].parameters(), lr=0.01))


@pytest.mark.parametrize("put", [lambda m: m[0].register_forward_hook(lambda module, args, out: out + 3),
                                 lambda m: m[1].register_forward_pre_hook(lambda module, args: (args[0] + 3,)),
                                 lambda m: nn.modules.module.register_module_forward_pre_hook(
                                     lambda module, args: (args[0] + 3,) if isinstance(module, nn.ReLU) else None)],
                         ids=["hook on the module before", "pre-hook", "pre-hook on all"])
def test_hooks_that_come_and_go_between_sampled_steps(put):
    model, handles = mlp(), []

    def loss(step, note):
        if step == 4:
            handles.append(put(model))
        if step == 7:
            handles.pop().remove()
        seen = []
        handle = model[2].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
        result = model(torch.randn(32, 6)).square().mean()
        handle.remove()
        note("1", seen[0])
        return result
    compared(model, loss)


def test_a_sequential_inside_another_whose_relu_was_replaced():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))

        def forward(self, x):
            for _ in range(times[0]):
                x = self.inner(x) + 2
                outputs.append(self.inner[2].weight.new_zeros(0))
            return x
    torch.manual_seed(1)
    times, outputs, model = [1], [], nn.Sequential(nn.Linear(6, 6), nn.ReLU(), Twice(), nn.Linear(6, 6), nn.ReLU())

    def loss(step, note):
        if step == 4:
            model[2].inner[1] = nn.Tanh()
        times[0] = 3 if step > 6 else 1
        x = torch.randn(32, 6)
        with torch.no_grad():
            h = model[1](model[0](x))
            for _ in range(times[0]):
                h = model[2].inner(h)
                note("2.inner.2", h)
                h = h + 2
        return model(x).square().mean()
    compared(model, loss, 12)


def clipped(model):
    for parameter in model.parameters():
        parameter.data.clamp_(-0.1, 0.1)   # changes no version


@pytest.mark.parametrize("width", [16, 200], ids=["small", "big"])
def test_weights_clipped_behind_their_versions(width):
    model = mlp(width)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    norms, ratios = {}, {}
    with Monitor(model, optimizer, every=1, exact=True) as monitor:
        for step in range(12):
            before = {name: p.detach().clone() for name, p in model.named_parameters()}
            optimizer.zero_grad()
            model(torch.randn(32, 6)).square().mean().backward()
            optimizer.step()
            for name, p in model.named_parameters():
                norms[name, step] = float(before[name].norm())
                ratios[name, step] = float((p.detach() - before[name]).norm()) / norms[name, step]
            clipped(model)
    found = {(o.quantity, o.subject, o.step): o.value for o in monitor.history}
    assert {key: found["weight_norm", *key] for key in norms} == pytest.approx(norms, rel=1e-3)
    assert {key: found["update_ratio", *key] for key in ratios} == pytest.approx(ratios, rel=1e-3)


class ByData(torch.optim.Optimizer):
    """As optimizers were written once: its steps change no version."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.05})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(p.grad.data, alpha=-group["lr"])


def test_steps_in_between_that_change_no_version():
    torch.manual_seed(1)
    model = nn.ModuleDict({"often": nn.Linear(6, 3), "rarely": nn.Linear(6, 3)})
    often, rarely, x = ByData(model["often"].parameters()), ByData(model["rarely"].parameters()), torch.randn(32, 6)
    true = []
    with Monitor(model, [often, rarely], every=1) as monitor:
        for _ in range(8):
            for _ in range(4):
                often.zero_grad()
                model["often"](x).square().mean().backward()
                true.append(float(model["often"].weight.detach().norm()))
                often.step()
            rarely.zero_grad()
            model["rarely"](x).square().mean().backward()
            rarely.step()
    found = {o.step: o.value for o in monitor.history if (o.quantity, o.subject) == ("weight_norm", "often.weight")}
    assert len(found) >= 8
    assert all(min(abs(value - norm) for norm in true[step - 1:step + 2]) < 1e-5 for step, value in found.items() if step)


def test_an_exception_in_a_sequential_does_not_end_the_listening():
    class Fails(nn.Module):
        def forward(self, x):
            if failing[0]:
                raise ValueError
            return x * 1.0
    torch.manual_seed(1)
    failing, model = [False], nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), Fails(), nn.ReLU(), nn.Linear(16, 3))

    def loss(step, note):
        failing[0] = 4 <= step < 8
        try:
            return model(torch.randn(32, 6)).square().mean()
        except ValueError:
            return model[5](torch.randn(7, 16)).square().mean()
    monitor = compared(model, loss, 12)
    assert [o.step for o in monitor.history if (o.quantity, o.subject) == ("dead_share", "1")] == [0, 1, 2, 3, 8, 9, 10, 11]


def test_what_backward_is_called_on_may_be_a_generator_or_an_edge():
    torch.manual_seed(1)
    model, x = nn.Linear(6, 3), torch.randn(32, 6)
    twin = nn.Linear(6, 3)
    twin.load_state_dict(model.state_dict())

    def train(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(3):
            optimizer.zero_grad()
            torch.autograd.backward(loss for loss in [model(x).square().mean(), model(x).abs().mean()])
            torch.autograd.backward(torch.autograd.graph.get_gradient_edge(model(x).sum()), torch.tensor(0.1))
            optimizer.step()
    train(twin)
    with Monitor(model) as monitor:
        train(model)
    assert monitor.problem is None
    assert torch.equal(model.weight, twin.weight)
