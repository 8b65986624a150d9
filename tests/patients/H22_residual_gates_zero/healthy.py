import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gate * self.f(x)


class ReZero(nn.Module):
    def __init__(self, depth=8, d=48):
        super().__init__()
        self.stem = nn.Linear(64, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(x)


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X = torch.tensor(d.data).float() / 16
y = torch.tensor(d.target)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]
model = ReZero()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(300):
    b = torch.randint(0, 1200, (64,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(X[b]), y[b])
    loss.backward()
    opt.step()
    if it % 50 == 0 or it == 299:
        print(f"{it:4d} loss={loss.item():.4f}")
with torch.no_grad():
    print("val accuracy", (model(X[1200:]).argmax(1) == y[1200:]).float().mean().item())
