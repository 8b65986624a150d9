"""A loss that sinks without bound: with its sign turned back it has one; a critic's score and a reward have none, or no targets."""

import pytest
import torch
from torch import nn

from whyloss.laboratory.lab import open_laboratory
from whyloss.sources.watch import Watch

ROWS = torch.randn(128, 4, generator=torch.Generator().manual_seed(0))
WANTED = ROWS[:, :1].tanh() + 0.1 * ROWS[:, 1:2]


def squared(net, x, y):
    return -((net(x) - y) ** 2).mean()


def counts(net, x, y):
    rate = nn.functional.softplus(net(x)) + 1e-4
    return ((y > 0).float() * rate.log() - rate).mean()


def score(net, x, y):
    return ((y.sign() * net(x)) - 0.01).mean()


def pushed_away(net, x, y):
    moved = x
    for _ in range(3):
        moved = moved + net(moved)
    return -(moved - x).norm(dim=1).mean()


def flipped(loss):
    watch = Watch().start()
    try:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for step in range(40):
            part = slice(32 * (step % 4), 32 * (step % 4) + 32)
            optimizer.zero_grad()
            loss(net, ROWS[part], WANTED[part]).backward()
            optimizer.step()
    finally:
        watch.stop()
    return open_laboratory(watch.program, watch.evidence, budget=60).run("flip-sign", {"bottomless": True, "unseen": True})


@pytest.mark.parametrize("loss", [squared, counts])
def test_turned_back_it_has_a_bound(loss):
    outcome = flipped(loss)

    assert outcome is not None and outcome["changed"][-1] < outcome["control"][-1]


@pytest.mark.parametrize("loss", [score, pushed_away])
def test_a_score_and_a_reward_are_left_alone(loss):
    assert flipped(loss) is None
