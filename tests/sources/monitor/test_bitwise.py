"""Twelve kinds of training end with the very same weights, buffers, optimizer state and random state, watched or not."""

import copy
import os

import pytest
import torch
from torch import nn

from whyloss.sources.frozen import file
from whyloss.sources.monitor import Monitor

X, Y = torch.randn(32, 12, generator=torch.Generator().manual_seed(1)), torch.randint(0, 4, (32,), generator=torch.Generator().manual_seed(2))
STEPS = 6


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def mlp(*between):
    return nn.Sequential(nn.Linear(12, 20), nn.ReLU(), *between, nn.Linear(20, 4))


def plain(model, optimizer, steps=STEPS):
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), Y).backward()
        optimizer.step()


def accumulating(model, optimizer):
    for at in range(3 * STEPS):
        (nn.functional.cross_entropy(model(X[at % 4::4]), Y[at % 4::4]) / 3).backward()
        if at % 3 == 2:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()


def half(model, optimizer):
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(X), Y)
        loss.backward()
        optimizer.step()


def scaled(model, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120, growth_interval=3)  # the first steps overflow and are skipped
    for _ in range(3 * STEPS):
        optimizer.zero_grad()
        scaler.scale(nn.functional.cross_entropy(model(X), Y) * 1e6).backward()
        scaler.step(optimizer)
        scaler.update()


def closing(model, optimizer):
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(X), Y)
        loss.backward()
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cell, self.head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.cell(self.words(x))[0]).mean(1)


def words(model, optimizer):
    tokens, labels = torch.randint(0, 9, (16, 5)), torch.randint(0, 9, (16,))
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()


def sgd(p):
    return torch.optim.SGD(p, lr=0.1, momentum=0.9)


def adamw(p):
    return torch.optim.AdamW(p, lr=1e-2)


def wide():
    """Big enough that only some entries are read."""
    return nn.Sequential(nn.Linear(12, 1500), nn.ReLU(inplace=True), nn.Linear(1500, 40), nn.Tanh(), nn.Linear(40, 4))


def pictures():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.n, self.b = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Linear(24, 4)

        def forward(self, x):
            return self.b(torch.relu(self.n(self.a(x.view(-1, 3, 2, 2).repeat(1, 1, 2, 2)))).flatten(1))
    return Net()


WORKLOADS = {
    "MLP with SGD": (mlp, sgd, plain),
    "big layers with AdamW": (wide, adamw, plain),
    "fused AdamW": (mlp, lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True), plain),
    "foreach Adam": (mlp, lambda p: torch.optim.Adam(p, lr=1e-2, foreach=True), plain),
    "accumulation and clipping": (mlp, adamw, accumulating),
    "bfloat16 autocast": (mlp, adamw, half),
    "gradient scaler with skipped steps": (mlp, sgd, scaled),
    "fused with a gradient scaler": (mlp, lambda p: torch.optim.SGD(p, lr=0.1, fused=True), scaled),
    "tied weights": (Tied, adamw, words),
    "LBFGS": (mlp, lambda p: torch.optim.LBFGS(p, max_iter=5), closing),
    "dropout": (lambda: mlp(nn.Dropout(0.5)), adamw, plain),
    "batch norm": (pictures, sgd, plain),
}


def ended(name: str, how: dict | None):
    """Everything that a training leaves behind."""
    make, optimizer_of, train = WORKLOADS[name]
    torch.manual_seed(7)
    model = make()
    optimizer = optimizer_of(model.parameters())
    if how is None:
        train(model, optimizer)
    else:
        with Monitor(model, optimizer, **how) as monitor:
            train(model, optimizer)
        assert monitor.problem is None
        assert monitor.sampled > 0
    return model.state_dict(), optimizer.state_dict(), torch.get_rng_state()


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("how", [{"every": 1}, {"every": 1, "exact": True}, {"every": 3}, {}], ids=["sampled", "exact", "every third", "budget"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_watched_training_ends_bit_for_bit_as_an_unwatched_one(name, how):
    bare = ended(name, None)
    assert same(copy.deepcopy(bare), ended(name, how))


@pytest.mark.parametrize("name", WORKLOADS)
def test_recording_every_step_to_explain_a_failure_changes_nothing(name, tmp_path):
    bare = ended(name, None)
    assert same(copy.deepcopy(bare), ended(name, {"every": 2, "stop_on_nonfinite": True, "freeze": tmp_path}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WORKLOADS)
def test_freezing_steps_changes_nothing(name, tmp_path):
    bare = copy.deepcopy(ended(name, None))
    make, optimizer_of, train = WORKLOADS[name]
    torch.manual_seed(7)
    model = make()
    optimizer = optimizer_of(model.parameters())
    monitor = Monitor(model, optimizer, every=1).attach()
    monitor.freeze(tmp_path / "step.whyloss", steps=3)
    train(model, optimizer)
    monitor.close()

    assert monitor.problem is None
    assert same(bare, (model.state_dict(), optimizer.state_dict(), torch.get_rng_state()))
    assert monitor.frozen == [tmp_path / "step.whyloss"]
    assert file.read(tmp_path / "step.whyloss").about["problem"] is None


def test_a_compiled_model_ends_the_same_and_is_compiled_once():
    def run(watched: bool):
        torch.manual_seed(3)
        graphs = []

        def backend(graph, _inputs):
            graphs.append(graph)
            return graph

        net = mlp(nn.Dropout(0.5))
        model, optimizer = torch.compile(net, backend=backend), adamw(net.parameters())
        monitor = Monitor(model, optimizer, every=2)
        if watched:
            monitor.attach()
        plain(model, optimizer)
        monitor.close()
        assert monitor.problem is None
        return net.state_dict(), len(graphs), monitor

    bare, compiled, _ = run(False)
    torch._dynamo.reset()
    seen, again, monitor = run(True)
    assert same(bare, seen)
    assert compiled == again == 1
    assert "compiled" in monitor.not_observed["the model"]
    assert len(monitor.history.series("grad_norm", "0.weight")) == 3


def test_a_compiled_function_around_the_model_is_compiled_once():
    graphs = []

    def backend(graph, _inputs):
        graphs.append(graph)
        return graph

    model = mlp()
    optimizer = sgd(model.parameters())
    loss_of = torch.compile(lambda x, y: nn.functional.cross_entropy(model(x), y), backend=backend)
    with Monitor(model, optimizer, every=2) as monitor:
        for _ in range(8):
            optimizer.zero_grad()
            loss_of(X, Y).backward()
            optimizer.step()
    assert monitor.problem is None
    assert len(graphs) == 1
    assert "compiles functions" in monitor.not_observed["the model"]


def test_distributed_data_parallel_ends_the_same(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        def run(watched: bool):
            torch.manual_seed(3)
            model = nn.parallel.DistributedDataParallel(mlp(nn.Dropout(0.5)))
            optimizer = adamw(model.parameters())
            monitor = Monitor(model, optimizer, every=1)
            if watched:
                monitor.attach()
            plain(model, optimizer)
            monitor.close()
            return model.state_dict(), monitor

        bare, (seen, monitor) = run(False)[0], run(True)
        assert same(bare, seen)
        assert monitor.problem is None
        assert len(monitor.history.series("activation_std", "0")) == STEPS
        assert len(monitor.history.series("grad_norm", "0.weight")) == STEPS
    finally:
        torch.distributed.destroy_process_group()
        os.environ.pop("TORCHELASTIC_RUN_ID", None)
