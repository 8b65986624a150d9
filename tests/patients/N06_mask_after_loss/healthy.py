import os
from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class Settings:
    lr: float = 5e-3
    steps: int = 500
    hidden: list = field(default_factory=lambda: [32, 32])
    seed: int = int(os.environ.get("SEED", 0))


def simulate(n):
    x = torch.randn(n, 5)
    y = torch.stack([x[:, 0] + x[:, 1] ** 2, x[:, 2] - x[:, 3] * x[:, 4], x.sum(1)], dim=1)
    observed = torch.rand(n, 3) > 0.2
    return x, y.masked_fill(~observed, float("nan")), y


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


def masked_mse(pred, target):
    mask = ~torch.isnan(target)
    sq = (pred - target.nan_to_num(0.0)) ** 2
    return torch.where(mask, sq, torch.zeros_like(sq)).sum() / mask.sum()


cfg = Settings()
torch.manual_seed(cfg.seed)
x, y, _ = simulate(2000)
xv, _, yv = simulate(500)
model = mlp([5, *cfg.hidden, 3])
opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
for step in range(cfg.steps):
    i = torch.randint(0, len(x), (64,))
    loss = masked_mse(model(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == cfg.steps - 1:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    mse = (model(xv) - yv).pow(2).mean()
print("val R2", (1 - mse / yv.var(0).mean()).item())
