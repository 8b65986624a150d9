"""What watching costs: bare steps and watched steps in one process, in turns, by CPU time of the training thread.

    python bench/overhead.py [--quick] [--only mlp,gpt] [--rounds 9]

Each row is a way of watching. "A/B" is the median over rounds of (its fastest step / the fastest bare step before and after it) - 1;
the row "bare" is bare against bare and shows the noise: below its size the column says nothing. "own" is the CPU time counted
inside of our own code, and 1.5 us for each hooked call, over the bare step; it resolves what A/B does not.
"""

import argparse
import contextlib
import gc
import random
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

import torch
from torch import nn

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from watchers import ENLARGES, NEED, OTHERS  # noqa: E402

from whyloss.sources.monitor import Monitor  # noqa: E402
from whyloss.sources.monitor import monitor as engine  # noqa: E402
from whyloss.sources.monitor import tap as tap_of  # noqa: E402

clock = time.thread_time


# ---------------------------------------------------------------------- what is trained
class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.act, self.narrow = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, time_, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, time_, width))
        return x + self.narrow(self.act(self.wide(self.after(x))))


class GPT(nn.Module):
    def __init__(self, width=256, layers=4, words=512, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places.weight[: x.shape[1]]))).flatten(0, 1)


class Residual(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.a, self.na, self.ra = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU()
        self.b, self.nb, self.rb = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU()
        self.short = nn.Conv2d(inner, outer, 1, stride, bias=False) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x):
        return self.rb(self.nb(self.b(self.ra(self.na(self.a(x))))) + self.short(x))


def mlp():
    layers = [nn.Linear(784, 512), nn.ReLU()] + [m for _ in range(3) for m in (nn.Linear(512, 512), nn.ReLU())] + [nn.Linear(512, 10)]
    return nn.Sequential(*layers), torch.randn(128, 784), torch.randint(0, 10, (128,))


def deep():
    layers = [nn.Linear(64, 32), nn.ReLU()] + [m for _ in range(98) for m in (nn.Linear(32, 32), nn.ReLU())] + [nn.Linear(32, 10)]
    for layer in layers[::2]:
        nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(*layers), torch.randn(128, 64), torch.randint(0, 10, (128,))


def cnn():
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Residual(16, 16, 1), Residual(16, 32, 2),
                          Residual(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return model, torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))


def gpt():
    return GPT(), torch.randint(0, 512, (8, 128)), torch.randint(0, 512, (8 * 128,))


NETS = {"mlp": mlp, "deep": deep, "cnn": cnn, "gpt": gpt}
STEPS = {"mlp": 12, "deep": 12, "cnn": 3, "gpt": 3}   # timed in a row
OPTIMIZERS = {"adamw": lambda p: torch.optim.AdamW(p, lr=1e-5), "sgd": lambda p: torch.optim.SGD(p, lr=1e-5, momentum=0.9)}


class Training:
    """One model, trained on without end by every way of watching in turn."""

    def __init__(self, net, optimizer):
        torch.manual_seed(0)
        self.model, self.x, self.y = NETS[net]()
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.unwatched()

    def unwatched(self) -> None:
        self.before = self.after = self.loss = self.backward = None

    def step(self) -> None:
        loss = self.loss() if self.loss else nn.functional.cross_entropy(self.model(self.x), self.y)
        self.optimizer.zero_grad()
        if self.backward:
            self.backward(loss)
        else:
            loss.backward()
        if self.before:
            self.before(loss)
        self.optimizer.step()
        if self.after:
            self.after()

    def times(self, count: int) -> list[float]:
        """Seconds of CPU time of `count` steps, one by one."""
        found = []
        for _ in range(count):
            began = clock()
            self.step()
            found.append(clock() - began)
        return found


# ---------------------------------------------------------------------- the ways of watching
@contextlib.contextmanager
def watched(training, **how):
    with Monitor(training.model, training.optimizer, **how) as monitor:
        yield monitor
    if monitor.problem:
        sys.exit(f"the monitor failed: {monitor.problem}")


OURS = {"bare": lambda t: contextlib.nullcontext(), "default budget": watched, "every step, sampled": lambda t: watched(t, every=1),
        "every step, exact": lambda t: watched(t, every=1, exact=True), "unsampled step": lambda t: watched(t, every=1 << 30)}


# ---------------------------------------------------------------------- measuring
SLOW, SLOW_ROUNDS = 3.0, 3   # what takes so many times the step is not measured more often


def compared(training, watched, way, count: int) -> float:
    """How much longer a step is, once: its fastest against the fastest bare ones before and after. watched: the same training, or one like it"""
    left = min(training.times(count))
    with way(watched):
        watched.times(2)  # what is made once is not the question here
        mine = min(watched.times(count))
    watched.unwatched()
    return 2 * mine / (left + min(training.times(count))) - 1


def own_share(training, way, count: int) -> tuple[float, float, float]:
    """Own CPU time / bare CPU time; microseconds of own time a step; steps for each sampled one. By thread CPU time, not the engine's wall clock."""
    kept = engine.perf_counter, tap_of.perf_counter, tap_of.CALL_SECONDS
    engine.perf_counter = tap_of.perf_counter = clock
    tap_of.CALL_SECONDS -= _clock_seconds()  # this clock is a system call, the engine's is not: each hook would seem to take 2 us more
    try:
        with way(training) as monitor:
            training.times(max(2, count // 8))  # the first samples, which warm up
            before, began = (monitor.cost.seconds, monitor.steps, monitor.sampled), clock()
            training.times(count)
            whole, own = clock() - began, monitor.cost.seconds - before[0]
            steps, sampled = monitor.steps - before[1], monitor.sampled - before[2]
    finally:
        engine.perf_counter, tap_of.perf_counter, tap_of.CALL_SECONDS = kept
    return own / (whole - own), 1e6 * own / steps, steps / max(1, sampled)


def _clock_seconds() -> float:
    """What one look at the clock takes."""
    began = clock()
    for _ in range(2000):
        clock()
    return (clock() - began) / 2000


def measure(net: str, optimizer: str, rows, rounds: int, long: float) -> None:
    training = Training(net, optimizer)
    training.times(5)
    step = statistics.median(training.times(9))
    print(f"\n{net} with {optimizer}: a bare step takes {1e3 * step:.1f} ms of CPU time")
    print(f"  {'':24} {'A/B %':>8} {'IQR':>6} {'own %':>7} {'us/step':>8} {'1 in':>6}")
    print("  " + memory(training))
    found = {name: [] for name in rows}
    usable = {}
    for name, way in rows.items():
        if name in NEED and not _there(NEED[name]) or not rounds and name not in OURS:
            continue
        usable[name] = way
    for _ in range(rounds):
        for name in random.Random(len(found["bare"])).sample(list(usable), len(usable)):
            gc.collect()
            if len(found[name]) >= SLOW_ROUNDS and found[name][0] > SLOW:
                continue
            try:
                of = Training(net, optimizer) if name in ENLARGES else training
                found[name].append(compared(training, of, usable[name], STEPS[net] if name not in ENLARGES else 2))
            except Exception as error:
                print(f"  {name}: {type(error).__name__}: {error}")
                del usable[name]
                training.unwatched()
    for name in [n for n in usable if found[n] or n in OURS]:
        line = f"  {name:24} {'':15}"
        if found[name]:
            values = sorted(100 * v for v in found[name])
            line = f"  {name:24} {statistics.median(values):8.1f} {values[3 * len(values) // 4] - values[len(values) // 4]:6.1f}"
        if name in OURS and name != "bare":
            count = max(8, int((long if name == "default budget" else long / 6) / step))
            share, each, one_in = own_share(training, usable[name], count)
            line += f" {100 * share:7.2f} {each:8.0f} {one_in:6.1f}" if name != "unsampled step" else f" {100 * share:7.2f} {each:8.0f}"
        print(line, flush=True)


def memory(training) -> str:
    """What watching holds: Python's and numpy's objects as traced, and our tensors, kept and in a sample."""
    tracemalloc.start()
    with Monitor(training.model, training.optimizer, every=1) as monitor:
        training.times(3)
        gc.collect()
        held = sum(s.size for s in tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(True, "*whyloss*")]).statistics("filename"))
        kept = sum(t.numel() * t.element_size() for t in monitor.sampler.entries._known.values())
        big = sum(len(g.members) for k in monitor.sampler.known.values() for g in k.plan.groups if not g.small)
        room = monitor._history.limit * (4 * len(monitor._history.columns) + 100)
    tracemalloc.stop()
    weights = sum(p.numel() * p.element_size() for p in training.model.parameters())
    state = sum(t.numel() * t.element_size() for s in training.optimizer.state.values() for t in s.values() if isinstance(t, torch.Tensor))
    saved: dict[int, int] = {}

    def pack(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        training.model(training.x)
    for parameter in training.model.parameters():
        saved.pop(parameter.untyped_storage().data_ptr(), None)
    fixed, whole = 2 * weights + state, 2 * weights + state + sum(saved.values())
    ours = held + kept + room + 4 * 4096 * max(big + 1, 8)
    return (f"memory: at most {ours / 1e3:.0f} kB, with {room / 1e3:.0f} of history; {100 * ours / fixed:.2f} % of weights, gradients and "
            f"optimizer state ({fixed / 1e6:.1f} MB), {100 * ours / whole:.2f} % of these and what forward saves ({whole / 1e6:.1f} MB)")


def _there(name: str) -> bool:
    import importlib.util
    return importlib.util.find_spec(name) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a few minutes")
    parser.add_argument("--only", default=",".join(NETS), help="nets, comma separated")
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--rounds", type=int, help="of A/B; 0: only our own time")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rounds, long = args.rounds if args.rounds is not None else (3 if args.quick else 15), 6.0 if args.quick else 20.0
    for net in args.only.split(","):
        for optimizer in args.optimizers.split(","):
            measure(net, optimizer, {**OURS, **OTHERS}, rounds, long)


if __name__ == "__main__":
    main()
