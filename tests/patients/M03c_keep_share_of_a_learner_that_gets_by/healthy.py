"""Yield of a process from ten settings; a small residual network with dropout, the rate given as the share to keep in the old code."""
import os

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman1

SEED = int(os.environ.get("SEED", 0))
KEPT = 0.9


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, h):
        inside = F.dropout(F.silu(self.inner(h)), p=1 - KEPT, training=self.training)
        return h + self.outer(inside)


class Yield(torch.nn.Module):
    def __init__(self, settings, width=32, blocks=2):
        super().__init__()
        self.lift = torch.nn.Linear(settings, width)
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(blocks))
        self.read = torch.nn.Linear(width, 1)

    def forward(self, x):
        h = self.lift(x)
        for block in self.blocks:
            h = block(h)
        return self.read(F.dropout(F.silu(h), p=1 - KEPT, training=self.training)).squeeze(1)


def tables():
    x, y = make_friedman1(n_samples=1600, n_features=10, noise=0.5, random_state=SEED)
    y = (y - y.mean()) / y.std()
    x = (x - 0.5) / np.sqrt(1 / 12)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def main():
    torch.manual_seed(SEED)
    x, y = tables()
    model = Yield(x.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    for epoch in range(30):
        model.train()
        total = 0.0
        for rows in torch.randperm(1200).split(40):
            loss = F.smooth_l1_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.inference_mode():
            new = F.smooth_l1_loss(model(x[1200:]), y[1200:])
        print(f"epoch {epoch} loss {total / 1200:.4f} new settings {new.item():.4f}")


main()
