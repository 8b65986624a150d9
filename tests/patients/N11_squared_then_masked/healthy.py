import os

import torch
from sklearn.datasets import load_linnerud
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
true = torch.randn(6, 3)
X = torch.randn(400, 6)
Y = torch.tanh(X @ true) + 0.05 * torch.randn(400, 3)
Y[torch.rand(400, 3) < 0.02] = float("nan")


def score(pred, target):
    known = ~torch.isnan(target)
    return ((pred[known] - target[known]) ** 2).sum() / known.sum()


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 48), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(48, 1) for _ in range(3))

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], 1)


model = Multi()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(300):
    rows = torch.randperm(400)[:40]
    optimizer.zero_grad()
    loss = score(model(X[rows]), Y[rows])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 60 == 0 or step == 299:
        print(f"step {step} loss {loss.item():.4f}")
