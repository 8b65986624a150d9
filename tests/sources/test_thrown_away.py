"""Backward passes whose gradient is cleared before a step uses it: counted at each step, unless somebody looked at it."""

import pytest
import torch
from torch import nn

from whyloss.sources.watch import Watch

ROWS, WANTED = torch.randn(32, 4, generator=torch.Generator().manual_seed(0)), torch.randn(32, 1, generator=torch.Generator().manual_seed(1))


def loss_of(model, rows=ROWS):
    return (model(rows) - WANTED[:len(rows)]).square().mean()


def each_micro_batch(model, optimizer):
    for part in ROWS.split(8):
        optimizer.zero_grad()
        loss_of(model, part).backward()
    optimizer.step()


def accumulated(model, optimizer):
    optimizer.zero_grad()
    for part in ROWS.split(8):
        loss_of(model, part).backward()
    optimizer.step()


def attacked(model, optimizer):
    rows = ROWS.clone().requires_grad_()
    loss_of(model, rows).backward()
    optimizer.zero_grad()
    loss_of(model, ROWS + 0.1 * rows.grad.sign()).backward()
    optimizer.step()
    optimizer.zero_grad()


def per_sample(model, optimizer):
    kept = [torch.zeros_like(p) for p in model.parameters()]
    for row in ROWS[:4]:
        model.zero_grad()
        loss_of(model, row[None]).backward()
        for total, p in zip(kept, model.parameters()):
            total += p.grad / max(1.0, float(p.grad.norm()))
    for total, p in zip(kept, model.parameters()):
        p.grad = total
    optimizer.step()


def sharp(model, optimizer):
    loss_of(model).backward()
    moves = [0.05 * p.grad / p.grad.norm() for p in model.parameters()]
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves):
            p += move
    optimizer.zero_grad()
    loss_of(model).backward()
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves):
            p -= move
    optimizer.step()
    optimizer.zero_grad()


def measured(model, optimizer):
    loss_of(model).backward()
    nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    optimizer.zero_grad()
    loss_of(model).backward()
    optimizer.step()
    optimizer.zero_grad()


def not_finite(model, optimizer):
    (loss_of(model) * float("inf")).backward()
    optimizer.zero_grad()
    loss_of(model).backward()
    optimizer.step()
    optimizer.zero_grad()


def rows_of(loop, steps=40):
    watch = Watch().start()
    try:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(steps):
            loop(model, optimizer)
    finally:
        watch.stop()
    assert not watch.errors
    return watch.evidence.series("step", "SGD").values


def test_counts_what_each_step_lost():
    assert [(row["lost"], row["used"]) for row in rows_of(each_micro_batch)] == [(3, 1)] * 40


@pytest.mark.parametrize("loop", [accumulated, attacked, per_sample, sharp, measured, not_finite])
def test_spares_gradients_that_were_used_read_or_useless(loop):
    assert {row["lost"] for row in rows_of(loop)} == {0}
