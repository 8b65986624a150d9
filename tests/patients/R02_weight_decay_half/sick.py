import os
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


@dataclass(frozen=True)
class OptimConfig:
    lr: float = 0.1
    momentum: float = 0.5
    weight_decay: float = 0.5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(64, 64)
        self.mid = nn.Linear(64, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        return self.out(F.relu(self.mid(F.relu(self.inp(x)))))


def make_optimizer(model, cfg):
    return torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum, weight_decay=cfg.weight_decay)


def run(seed):
    torch.manual_seed(seed)
    d = load_digits()
    x = torch.tensor(d.data, dtype=torch.float32) / 16
    y = torch.tensor(d.target)
    perm = torch.randperm(len(x))
    x, y = x[perm], y[perm]
    model = Net()
    optimizer = make_optimizer(model, OptimConfig())
    for step in range(500):
        i = torch.randint(0, 1200, (64,))
        loss = F.cross_entropy(model(x[i]), y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == 499:
            print(f"step={step} loss={loss.item():.4f}")
    with torch.no_grad():
        return (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item()


print("val_accuracy", run(int(os.environ.get("SEED", 0))))
