import copy
import math
import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.short(x))


def resnet():
    return nn.Sequential(Block(1, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def batches(x, y, size):
    while True:
        for idx in torch.randperm(len(x)).split(size):
            yield x[idx], y[idx]


def find_lr(model, optimizer, criterion, stream, start=1e-7, end=100.0, iterations=100):
    """Exponential sweep; returns the rate where the smoothed loss falls steepest."""
    saved = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    factor = (end / start) ** (1 / (iterations - 1))
    rate, smooth, seen = start, None, []
    for it in range(iterations):
        for group in optimizer.param_groups:
            group["lr"] = rate
        xb, yb = next(stream)
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        smooth = loss.item() if smooth is None else 0.9 * smooth + 0.1 * loss.item()
        seen.append((rate, smooth))
        rate *= factor
    model.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    slopes = [(seen[i + 1][1] - seen[i][1], seen[i][0]) for i in range(20, len(seen) - 25)]
    return min(slopes)[1]


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(d.target)
mix = torch.randperm(len(x))
x, y = x[mix], y[mix]

model = resnet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-7)
criterion = nn.CrossEntropyLoss()
stream = batches(x[:1400], y[:1400], 64)

lr = find_lr(model, optimizer, criterion, stream)
print(f"suggested learning rate {lr:.2e}")
for group in optimizer.param_groups:
    group["lr"] = lr

for it in range(200):
    xb, yb = next(stream)
    optimizer.zero_grad()
    loss = criterion(model(xb), yb)
    loss.backward()
    optimizer.step()
    if it % 40 == 39:
        print(f"iteration {it + 1} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print("test accuracy", (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item())
