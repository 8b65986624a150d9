"""The laboratory leaves everything as it found it, and its arms are comparable."""

import copy
import random

import numpy
import pytest
import torch
from torch import nn

from whyloss.laboratory.experiments.loop import same_kind
from whyloss.laboratory.lab import open_laboratory
from whyloss.laboratory.names import EXPERIMENTS
from whyloss.laboratory.sandbox import Plan, Rehearsal, untouched
from whyloss.sources.watch import Watch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.fixture(scope="module")
def watched():
    """A small training, watched for 30 steps: (watch, model, optimizer, losses)."""
    torch.manual_seed(3)
    x = torch.randn(96, 6)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    watch = Watch().start()
    try:
        model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
        losses = []
        for step in range(30):
            rows = slice(step % 3 * 32, step % 3 * 32 + 32)
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    finally:
        watch.stop()
    assert watch.errors == []
    return watch, model, optimizer, losses


def state_of(model, optimizer):
    return copy.deepcopy((model.state_dict(), optimizer.state_dict(), [p.grad for p in model.parameters()],
                          [m.training for m in model.modules()], [p.requires_grad for p in model.parameters()]))


def same(first, second) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_leaves_weights_buffers_gradients_optimizer_modes_and_random_state_as_found(watched, name):
    watch, model, optimizer, _ = watched
    before, torch_state = state_of(model, optimizer), torch.get_rng_state()
    python_state, numpy_state = random.getstate(), numpy.random.get_state()
    masters = copy.deepcopy([leaf.detach() for leaf in watch.program.leaves.values()])

    laboratory = open_laboratory(watch.program, watch.evidence, budget=6.0)
    laboratory.run(name)

    assert same(before, state_of(model, optimizer))
    assert torch.equal(torch_state, torch.get_rng_state())
    assert python_state == random.getstate()
    assert all(map(numpy.array_equal, numpy_state[1:3], numpy.random.get_state()[1:3]))
    assert same(masters, [leaf.detach() for leaf in watch.program.leaves.values()])


def test_the_control_arm_is_the_same_every_time(watched):
    watch = watched[0]
    with untouched():
        runs = [Rehearsal(watch.program, Plan()).train(20, deadline=float("inf")) for _ in range(2)]
    assert runs[0] == runs[1]


def test_the_first_step_is_replayed_to_the_loss_that_was_seen(watched):
    watch, _, _, losses = watched
    assert watch.program.check_faithful() is None
    assert watch.program.tapes[0].value == pytest.approx(losses[0])


def test_a_tiny_batch_of_a_sound_model_is_memorised(watched):
    laboratory = open_laboratory(watched[0].program, watched[0].evidence, budget=20.0)
    outcome = laboratory.run("overfit")
    assert outcome["passed"] and outcome["floor"] < 1e-3 < outcome["constant"]


class Lookahead(torch.optim.Optimizer):
    """Steps through another optimizer, and remembers slow weights and a count of its own."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
        self.fast, self.count = torch.optim.SGD(self.param_groups, lr=lr), 0
        self.slow = [p.detach().clone() for group in self.param_groups for p in group["params"]]

    @torch.no_grad()
    def step(self, closure=None):
        self.fast.step()
        self.count += 1
        if self.count % 3 == 0:
            for slow, p in zip(self.slow, (p for group in self.param_groups for p in group["params"])):
                p.copy_(slow.lerp_(p, 0.5))


def test_an_optimizer_of_the_scripts_own_steps_on_a_copy_as_it_did():
    torch.manual_seed(4)
    x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
    model = nn.Linear(6, 3)
    watch, losses = Watch().start(), []
    try:
        optimizer = Lookahead(model.parameters(), lr=0.3)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4)  # which wraps step() on the instance
        for _ in range(10):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    finally:
        watch.stop()
    before = [p.clone() for p in model.parameters()], [s.clone() for s in optimizer.slow], optimizer.count
    with untouched():
        assert Rehearsal(watch.program, Plan()).train(10, deadline=float("inf")) == pytest.approx(losses, rel=1e-4)
        other = Rehearsal(watch.program, Plan(loop="canonical", make_optimizer=same_kind))
        assert other.train(8, deadline=float("inf"))[-1] < other.losses[0]
    assert optimizer.count == before[2] and all(map(torch.equal, optimizer.slow, before[1]))
    assert all(map(torch.equal, model.parameters(), before[0]))
    assert "__deepcopy__" not in vars(torch.optim.Optimizer)


class Ahead(torch.optim.SGD):
    """Looks at the gradient a little further up before it steps."""

    @torch.no_grad()
    def step(self, closure):
        held = [p for group in self.param_groups for p in group["params"]]
        pushes = [0.01 * p.grad for p in held]
        for p, push in zip(held, pushes):
            p.add_(push)
            p.grad = None
        with torch.enable_grad():
            closure()
        for p, push in zip(held, pushes):
            p.sub_(push)
        super().step()


def test_an_optimizer_that_asks_for_the_gradient_in_between_gets_it():
    torch.manual_seed(5)
    x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
    model = nn.Linear(6, 3)
    watch = Watch().start()
    try:
        optimizer = Ahead(model.parameters(), lr=0.3)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step(lambda: nn.functional.cross_entropy(model(x), y).backward())
    finally:
        watch.stop()
    for plan in (Plan(loop="canonical"), Plan(loop="canonical", make_optimizer=same_kind)):
        with untouched():
            losses = Rehearsal(watch.program, plan).train(10, deadline=float("inf"))
        assert losses[-1] < losses[0] - 0.02


def test_a_floor_of_a_step_through_time_is_that_of_all_its_outputs_and_ends_in_time(monkeypatch):
    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 8), nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)
    watch = Watch().start()
    try:
        for _ in range(6):
            x, h, loss = torch.randn(12, 10, 3), torch.zeros(12, 8), 0.0
            for at in range(10):
                h = cell(x[:, at], h)
                loss += nn.functional.cross_entropy(head(h), (x[:, at, 0] > 0).long()) / 10
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        watch.stop()
    laboratory = open_laboratory(watch.program, watch.evidence, budget=20.0)
    found = laboratory.run("floor")
    assert found["after"] < 1e-2 and found["before"] > 0.3  # free outputs of the last call alone would leave nine tenths

    monkeypatch.setattr("whyloss.laboratory.experiments.overfit.FLOOR_SECONDS", 0.0)
    laboratory = open_laboratory(watch.program, watch.evidence, budget=20.0)
    assert laboratory.run("floor") is None and "floor" in laboratory.failures["floor"]


def test_a_budget_that_is_used_up_is_a_reason_not_an_error(watched):
    laboratory = open_laboratory(watched[0].program, watched[0].evidence, budget=0.0)
    assert laboratory.run("overfit") is None
    assert "budget" in laboratory.failures["overfit"]
