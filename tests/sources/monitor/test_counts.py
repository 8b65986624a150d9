"""What a step costs is counted, not timed: operations, hooks, transfers and memory."""

import time
import tracemalloc

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from whyloss.sources.monitor import Monitor
from whyloss.sources.monitor.bucket import Bucket
from whyloss.sources.monitor.tap import Tap

Y = torch.randint(0, 4, (32,), generator=torch.Generator().manual_seed(2))
TO_HOST = ("_local_scalar_dense", "_to_copy", "is_nonzero", "equal")


class Count(TorchDispatchMode):
    """Names of the operations that reach the dispatcher."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def deep(layers, width=12):
    model = nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width), nn.ReLU())], nn.Linear(width, 4))
    for layer in model[::2]:
        nn.init.kaiming_normal_(layer.weight)
    return model


def steps(model, optimizer, x, count=1):
    """-> names of the operations of the last step"""
    for _ in range(count):
        with Count() as counted:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), Y).backward()
            optimizer.step()
    return counted.names


def added(model, how, count=4, width=12):
    """How many operations watching adds to the last of `count` steps, and their names: not one in which all weights are compared."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(32, width)
    bare = steps(model, optimizer, x)
    with Monitor(model, optimizer, **how) as monitor:
        watched = steps(model, optimizer, x, count)
    assert monitor.problem is None
    more = list(watched)
    for name in bare:
        more.remove(name)
    return more


def test_a_step_that_is_not_sampled_adds_one_read_of_the_loss():
    assert [name for name in added(deep(5), {"every": 100}) if name != "detach"] == ["_local_scalar_dense"]


def test_a_sampled_step_moves_one_number_besides_the_frame_to_the_host():
    moved = [name for name in added(deep(5), {"every": 1}) if name in TO_HOST]
    assert moved == ["_local_scalar_dense"]  # the loss; the frame itself is one tensor, already on this host


def test_operations_grow_by_far_less_than_one_for_each_number():
    few, many = (len([n for n in added(deep(layers), {"every": 1}) if n not in ("detach", "view", "alias")]) for layers in (32, 96))
    watched = (96 - 32) * (2 * 3 + 2 + 4)  # three numbers for each parameter, two and four for each module
    assert (many - few) / watched < 0.25


def test_a_big_tensor_takes_a_fixed_number_of_operations():
    once, twice = (added(deep(2, width), {"every": 1}, width=width) for width in (200, 300))
    assert len(once) == len(twice)


def test_hooks_are_called_only_in_sampled_steps_and_those_of_followers_only_once(monkeypatch):
    model = deep(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    heard, originals = [], {name: getattr(Tap, name) for name in ("hear", "note")}
    for name, original in originals.items():
        monkeypatch.setattr(Tap, name, lambda tap, *args, original=original: (heard.append(monitor.steps), original(tap, *args))[1])
    with Monitor(model, optimizer, every=4) as monitor:
        steps(model, optimizer, torch.randn(32, 12), 9)
    assert heard == [0] * 9 + [4] * 5 + [8] * 5


def test_no_thread_is_started():
    import threading
    before = threading.active_count()
    model = deep(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with Monitor(model, optimizer, every=1):
        steps(model, optimizer, torch.randn(32, 12), 3)
        assert threading.active_count() == before


def test_no_gradient_graph_or_activation_is_kept_after_backward():
    import weakref
    model = deep(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with Monitor(model, optimizer, every=1):
        held = []
        model[0].register_forward_hook(lambda m, a, out: held.append(weakref.ref(out)))
        for _ in range(2):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(32, 12)), Y)
            loss.backward()
            del loss
            assert held[-1]() is None
            optimizer.step()


def test_host_memory_is_a_matter_of_layers_not_of_their_size():
    def held(width):
        model = nn.Sequential(nn.Linear(width, width), nn.Linear(width, width))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        x = torch.randn(4, width)
        with Monitor(model, optimizer, every=1) as monitor:
            for _ in range(3):
                model(x).sum().backward()
                optimizer.step()
            entries = sum(t.numel() * t.element_size() for t in monitor.sampler.entries._known.values())
            plans = [k.plan for k in monitor.sampler.known.values()]
            kept = sum(b.numel() * 4 for p in plans for b in p.before if b is not None) + sum(t.numel() for p in plans for t in p.kept.values())
        return entries + kept

    assert held(400) == held(800) <= 2 * 4096 * 4


def test_python_memory_stays_level_over_many_steps():
    model = deep(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(32, 12)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), Y).backward()
        optimizer.step()

    with Monitor(model, optimizer, every=1) as monitor:
        for _ in range(30):
            step()
        monitor._history.limit = 32
        for _ in range(60):
            step()
        tracemalloc.start()
        for _ in range(100):
            step()
        grown = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert grown < 200_000  # losses of each step, and frames that replaced others


# ---------------------------------------------------------------------- the budget
def spend(bucket, step, sample, idle, count):
    """-> share spent, steps for each sample"""
    own = sampled = 0.0
    open_ = True
    for _ in range(count):
        cost = idle + (sample if open_ else 0.0)
        own += cost
        bucket.step(step, cost)
        if open_:
            bucket.sampled(cost)
            sampled += 1
        open_ = bucket.affords()
    return own / (step * count), count / sampled


@pytest.mark.parametrize(("step", "sample", "idle"), [(0.010, 0.0015, 2e-5), (0.1, 0.003, 3e-5), (1.0, 0.010, 3e-5), (0.005, 0.002, 2e-5)])
def test_the_budget_is_kept_whatever_a_sample_costs(step, sample, idle):
    share, one_in = spend(Bucket(0.01), step, sample, idle, 4000)
    assert 0.008 < share < 0.012
    assert one_in == pytest.approx(sample / (0.01 * step - idle), rel=0.2, abs=0.3)


def test_what_is_spent_beside_the_samples_never_starves_them():
    model = deep(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with Monitor(model, optimizer) as monitor:
        nn.functional.cross_entropy(model(torch.randn(32, 12)), Y).backward()
        optimizer.step()
        known, = monitor.sampler.known.values()
        pace = monitor.pace
        pace.bucket.early, pace.bucket.typical, pace.bucket.balance, pace.bucket.owed = 2**62, 0.001, 0.0, 0.05
        now, steps = pace.last, 0
        while not monitor.sampler.open and steps < 2000:
            now, pace.since, pace.entered, steps = now + 0.001, 30e-6, time.perf_counter(), steps + 1
            monitor._plain_step(known, optimizer, now)  # a step of 1 ms earns 10 us, and 30 us are spent: a fifth of the 10 is for samples
    assert 450 < steps < 700


def test_the_first_steps_are_seen_whatever_they_cost():
    model = deep(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with Monitor(model, optimizer, budget=1e-6) as monitor:
        for _ in range(100):
            nn.functional.cross_entropy(model(torch.randn(32, 12)), Y).backward()
            optimizer.step()
    assert monitor.history.series("grad_norm").steps == [0, 4, 16, 64]


def test_an_early_sample_that_was_interrupted_for_long_is_no_gift():
    bucket = Bucket(1e-6)
    for seconds in (0.001, 0.001, 5.0, 0.001):
        bucket.step(0.01, seconds)
        bucket.sampled(seconds)
        assert not bucket.affords()


def test_one_sample_that_was_interrupted_for_long_does_not_silence_the_rest():
    bucket = Bucket(0.01)
    spend(bucket, 0.01, 0.002, 0.0, 500)
    bucket.step(0.01, 0.4)
    bucket.sampled(0.4)
    assert spend(bucket, 0.01, 0.002, 0.0, 400)[1] < 30


def test_a_long_pause_is_followed_by_no_burst():
    bucket = Bucket(0.01)
    spend(bucket, 0.01, 0.002, 0.0, 500)
    bucket.step(600.0, 0.0)
    runs = 0
    while bucket.affords():
        bucket.step(0.01, 0.002)
        bucket.sampled(0.002)
        runs += 1
    assert runs <= 4


def test_the_budget_holds_in_a_real_loop_within_a_wide_margin():
    model = deep(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(32, 12)
    with Monitor(model, optimizer, budget=0.2) as monitor:
        for _ in range(60):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), Y).backward()
            time.sleep(0.004)
            optimizer.step()
    assert 3 <= monitor.sampled < 60
    assert monitor.cost.share < 0.6
    assert monitor.cost.steps == 60


def test_a_compiled_optimizer_step_is_one_graph_as_it_is_unwatched():
    import torch._dynamo
    from torch._dynamo.utils import counters

    def graphs(watched: bool) -> int:
        torch._dynamo.reset()
        counters.clear()
        model = deep(2)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        step = torch.compile(lambda: optimizer.step(), backend="eager")
        monitor = Monitor(model, optimizer, every=1) if watched else None
        if monitor:
            monitor.attach()
        for _ in range(4):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(32, 12)), Y).backward()
            step()
        if monitor:
            monitor.close()
            assert monitor.steps == 4 and monitor.problem is None
        torch._dynamo.reset()
        return counters["stats"]["unique_graphs"]

    assert graphs(True) == graphs(False) == 1
