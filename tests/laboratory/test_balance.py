"""Weights of classes that go the wrong way show in the gradient of the loss, however they are written."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from whyloss.laboratory.lab import open_laboratory
from whyloss.sources.watch import Watch

RARE = 0.06


def by_torch(weights):
    return nn.CrossEntropyLoss(weight=torch.tensor(weights))


def by_hand(weights):
    return lambda scores, y: (torch.tensor(weights)[y] * F.cross_entropy(scores, y, reduction="none")).mean()


def outcome(objective):
    torch.manual_seed(1)
    y = (torch.rand(1200) < RARE).long()
    x = torch.randn(1200, 6) + 0.9 * y[:, None]
    watch = Watch().start()
    try:
        model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for rows in torch.randperm(1200).split(60):
            loss = objective(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        watch.stop()
    assert watch.errors == []
    return open_laboratory(watch.program, watch.evidence).run("balanced-samples")


@pytest.mark.parametrize("written", [by_torch, by_hand])
def test_sees_that_the_frequent_class_counts_for_more(written):
    found = outcome(written([1 - RARE, RARE]))

    assert found["shown"] and found["before"] == pytest.approx((1 - RARE) / RARE, rel=0.01)
    assert "class 0, the most frequent one" in found["said"]


@pytest.mark.parametrize("written", [by_torch, by_hand])
@pytest.mark.parametrize("weights", [[RARE, 1 - RARE], [1.0, 1.0], [0.75, 0.25]])
def test_says_so_of_no_other_weights(written, weights):
    assert "said" not in outcome(written(weights))
