"""Whole numbers as targets: ids have no order, levels have; one score per class is right more often for both."""

import pytest
import torch
from torch import nn

from whyloss.laboratory.lab import open_laboratory
from whyloss.sources.watch import Watch

KINDS = 7


def rows(ordered):
    chance = torch.Generator().manual_seed(1)
    kinds = torch.randint(0, KINDS, (512,), generator=chance)
    middles = torch.arange(KINDS)[:, None] * torch.ones(KINDS, 12) if ordered else 1.5 * torch.randn(KINDS, 12, generator=chance)
    return middles[kinds] + (1.2 if ordered else 1.0) * torch.randn(512, 12, generator=chance), kinds


@pytest.mark.parametrize("ordered", [False, True])
def test_ids_are_told_from_levels(ordered):
    inputs, kinds = rows(ordered)
    watch = Watch().start()
    try:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for step in range(80):
            part = slice(64 * (step % 8), 64 * (step % 8) + 64)
            optimizer.zero_grad()
            nn.functional.mse_loss(net(inputs[part]).squeeze(1), kinds[part].float()).backward()
            optimizer.step()
    finally:
        watch.stop()
    outcome = open_laboratory(watch.program, watch.evidence, budget=60).run("class-scores", {"classes": KINDS})

    assert outcome["shown"] is (not ordered)
