import os

import torch
from sklearn.datasets import load_digits
from torch import nn


class LossScaler:
    def __init__(self, scale=2.0**133, growth_interval=200):
        self.scale_value, self.interval, self.good = scale, growth_interval, 0

    def backward(self, loss):
        (loss.double() * self.scale_value).backward()

    def step(self, optimizer):
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if not all(torch.isfinite(g).all() for g in grads):
            self.scale_value /= 2
            self.good = 0
            return False
        for g in grads:
            g.div_(2.0**64).div_(self.scale_value / 2.0**64)
        optimizer.step()
        self.good += 1
        if self.good % self.interval == 0:
            self.scale_value *= 2
        return True


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(X))
X, y = X[p], y[p]
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler, skipped = LossScaler(), 0
for step in range(400):
    i = torch.randint(0, 1200, (64,))
    loss = nn.functional.cross_entropy(model(X[i]), y[i])
    optimizer.zero_grad()
    scaler.backward(loss)
    if not scaler.step(optimizer):
        skipped += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f} scale 2^{torch.tensor(scaler.scale_value).double().log2().item():.0f} skipped {skipped}")
model.eval()
with torch.no_grad():
    print("val accuracy", (model(X[1200:]).argmax(1) == y[1200:]).float().mean().item())
