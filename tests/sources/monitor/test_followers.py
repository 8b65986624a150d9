"""A ReLU without a hook has the numbers of one with a hook, and gets its hook back where that cannot hold."""

import copy

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from whyloss.sources.monitor import Monitor


class Opaque(nn.Sequential):
    """The same, but nobody knows what its forward does."""


def rows(monitor):
    """(quantity, subject, step) -> value of all that is told of activations"""
    return {(o.quantity, o.subject, o.step): o.value for o in monitor.history if o.quantity.startswith(("activation", "active", "dead"))}


def trained(model, x, steps=4, forward=None, before=None, **how):
    """-> what was told, and the followers at the end"""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with Monitor(model, optimizer, **{"every": 1, **how}) as monitor:
        for step in range(steps):
            if before is not None:
                before(model, step)
            optimizer.zero_grad()
            (forward or model)(x).square().mean().backward()
            optimizer.step()
        followers = {tap.name for tap in monitor.sampler.taps.taps if tap.follows}
    assert monitor.problem is None
    return rows(monitor), followers


def mlp(inplace=False):
    layers = [nn.Linear(6, 16), nn.ReLU(inplace), nn.Linear(16, 16), nn.ReLU(inplace), nn.Linear(16, 3)]
    with torch.no_grad():
        layers[2].bias[:4] = -9.0  # four dead units
    return layers


def pictures():
    return [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2)]


@pytest.mark.parametrize("layers, shape", [(mlp, (32, 6)), (lambda: mlp(True), (32, 6)), (mlp, (8, 5, 6)), (pictures, (4, 3, 8, 8))],
                         ids=["rows", "in place", "sequences", "pictures"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_numbers_are_those_of_a_hooked_one(layers, shape, exact, dtype):
    torch.manual_seed(1)
    model, x = nn.Sequential(*layers()).to(dtype), torch.randn(shape).to(dtype)
    hooked, none = trained(Opaque(*copy.deepcopy(model)), x, exact=exact)
    found, followers = trained(model, x, exact=exact)
    assert not none and followers == {name for name, module in model.named_modules() if isinstance(module, nn.ReLU)}
    assert found.keys() == hooked.keys()
    for key, value in found.items():
        assert value == pytest.approx(hooked[key], rel=1e-4, abs=1e-5), key
    assert layers is pictures or found["dead_share", "3", 3] == 0.25


def test_numbers_are_those_of_a_hooked_one_far_from_zero():
    torch.manual_seed(1)
    model, x = nn.Sequential(*mlp()), torch.randn(32, 6)
    with torch.no_grad():
        model[0].bias += 1e5
    hooked, _ = trained(Opaque(*copy.deepcopy(model)), x)
    found, followers = trained(model, x)
    assert followers == {"1", "3"}
    assert {k: found[k] for k in found if k[1] == "1"} == pytest.approx({k: hooked[k] for k in hooked if k[1] == "1"}, rel=1e-3)


def test_a_nan_is_told_as_one():
    model, x = nn.Sequential(*mlp()), torch.randn(32, 6)

    def spoil(model, step):
        if step == 3:
            x[0, 0] = float("nan")
    found, followers = trained(model, x, before=spoil)
    assert "1" in followers and found["activation_mean", "1", 3] != found["activation_mean", "1", 3]


def test_several_calls_are_put_together():
    torch.manual_seed(1)
    model, x = nn.Sequential(*mlp()[:2], nn.Linear(16, 6), nn.ReLU()), torch.randn(32, 6)
    hooked, _ = trained(twin := Opaque(*copy.deepcopy(model)), x, forward=lambda x: twin(twin(x) + 1))
    found, followers = trained(model, x, forward=lambda x: model(model(x) + 1))
    assert followers == {"1", "3"}
    assert found == pytest.approx(hooked, rel=1e-4, abs=1e-5)


def test_modules_called_one_by_one_are_hooked():
    torch.manual_seed(1)
    model, x = nn.Sequential(*mlp()), torch.randn(32, 6)
    whole = [True, True, False, False]

    def forward(x):
        if whole.pop(0):
            return model(x)
        for module in model[:3]:  # without its second ReLU
            x = module(x)
        return model[4](x)
    found, followers = trained(model, x, forward=forward)
    assert not followers
    steps = {subject: [step for quantity, at, step in found if at == subject and quantity == "dead_share"] for subject in ("1", "3")}
    assert steps == {"1": [0, 1, 3], "3": [0, 1]}  # in the third step it showed, and nothing is told that does not hold


def test_a_checkpointed_sequence_is_hooked():
    torch.manual_seed(1)
    model, x = nn.Sequential(*mlp()), torch.randn(32, 6, requires_grad=True)
    _found, followers = trained(model, x, forward=lambda x: checkpoint_sequential(model, 2, x, use_reentrant=True))
    assert not followers


@pytest.mark.parametrize("change", [lambda m: m.__setitem__(1, nn.Tanh()),
                                    lambda m: m[0].register_forward_hook(lambda module, args, out: out + 1),
                                    lambda m: m[1].register_forward_pre_hook(lambda module, args: (args[0] + 1,))],
                         ids=["replaced", "hook on the module before", "pre-hook"])
def test_what_comes_between_is_noticed(change):
    torch.manual_seed(1)
    model, x = nn.Sequential(*mlp()), torch.randn(32, 6)
    _found, followers = trained(model, x, steps=9, every=2, before=lambda model, step: change(model) if step == 3 else None)
    assert "1" not in followers


def test_a_shared_relu_and_another_class_are_hooked():
    class Leaky(nn.ReLU):
        def forward(self, x):
            return torch.where(x > 0, x, 0.1 * x)
    shared = nn.ReLU()
    model = nn.Sequential(nn.Linear(6, 8), shared, nn.Linear(8, 8), shared, nn.Linear(8, 8), Leaky())
    _found, followers = trained(model, torch.randn(32, 6))
    assert not followers


def test_a_batch_that_grows_beyond_what_is_read_whole():
    torch.manual_seed(1)
    model = nn.Sequential(*mlp())
    sizes = [32, 32, 2048, 2048]
    found, followers = trained(model, None, forward=lambda _: model(torch.randn(sizes.pop(0), 6)))
    assert not followers
    assert [step for quantity, at, step in found if (quantity, at) == ("active_share", "1")] == [0, 1, 3]


def test_hooks_are_gone_at_the_end():
    model = nn.Sequential(*mlp())
    trained(model, torch.randn(32, 6))
    assert not any(module._forward_hooks for module in model.modules())
