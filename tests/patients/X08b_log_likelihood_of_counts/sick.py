"""Arrivals per hour at a desk: a network gives the rate of a Poisson law."""
import os

import numpy as np
import torch
from torch import nn

seed = int(os.environ.get("SEED", 0))
rng = np.random.default_rng(seed)
torch.manual_seed(seed)

hours = rng.uniform(0, 24, 3000)
rain = rng.integers(0, 2, 3000)
rate = np.exp(0.4 + 0.9 * np.sin(hours / 24 * 2 * np.pi) - 0.6 * rain)
features = torch.tensor(np.stack([np.sin(hours / 24 * 2 * np.pi), np.cos(hours / 24 * 2 * np.pi), rain], 1), dtype=torch.float32)
counts = torch.tensor(rng.poisson(rate), dtype=torch.float32)
train, valid = slice(0, 2400), slice(2400, 3000)


class Desk(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 24)
        self.rate = nn.Linear(24, 1)

    def forward(self, inputs):
        return nn.functional.softplus(self.rate(torch.tanh(self.hidden(inputs)))).squeeze(1) + 1e-4


def log_likelihood(rates, seen):
    return (seen * rates.log() - rates - torch.lgamma(seen + 1)).mean()


desk = Desk()
sgd = torch.optim.SGD(desk.parameters(), lr=0.05, momentum=0.9)
for epoch in range(25):
    order = torch.randperm(2400)
    for start in range(0, 2400, 80):
        rows = order[start:start + 80]
        loss = log_likelihood(desk(features[train][rows]), counts[train][rows])
        sgd.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(desk.parameters(), 5.0)
        sgd.step()
    with torch.no_grad():
        error = (desk(features[valid]) - counts[valid]).abs().mean()
    print(f"epoch {epoch:2d} objective {loss.item():.4f} mean error {error:.3f}")
