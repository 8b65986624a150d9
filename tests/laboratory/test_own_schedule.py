"""A new optimizer in place of the user's goes at the rates the user's had, not at the one the warm-up began with."""

import torch
from torch import nn

from whyloss.laboratory.lab import open_laboratory
from whyloss.sources.watch import Watch

ROWS = torch.randn(128, 8, generator=torch.Generator().manual_seed(0))
WANTED = ROWS[:, :4].sin()


def test_over_a_warm_up_a_fresh_optimizer_does_what_the_old_one_did():
    watch = Watch().start()
    try:
        torch.manual_seed(0)
        net = nn.Linear(8, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            optimizer.param_groups[0]["lr"] = 0.1 * min(1.0, (step + 1) / 100)
            optimizer.zero_grad()
            nn.functional.mse_loss(net(ROWS), WANTED).backward()
            optimizer.step()
    finally:
        watch.stop()
    outcome = open_laboratory(watch.program, watch.evidence, budget=60).run("fresh-optimizer", {})

    assert max(abs(a - b) for a, b in zip(outcome["control"], outcome["changed"])) < 1e-5
