import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

HIDDEN_UNITS = [64, 64]


def build(n_in, hidden, n_out):
    layers = []
    for h in hidden:
        layers.append(nn.Linear(n_in, h))
        layers.append(nn.ReLU())
        n_in = h
    layers.append(nn.Linear(n_in, n_out))
    return nn.Sequential(*layers)


def loop(model, loader, criterion, optimizer):
    size = 0
    total = 0.0
    for x, y in loader:
        pred = model(x)
        loss = criterion(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() * x.size(0)
        size += x.size(0)
    return total / size


torch.manual_seed(int(os.environ.get("SEED", 0)))
data, target = load_digits(return_X_y=True)
X, y = torch.tensor(data / 16, dtype=torch.float32), torch.tensor(target)
perm = torch.randperm(len(X))
train = TensorDataset(X[perm[:1200]], y[perm[:1200]])
model = build(64, HIDDEN_UNITS, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(train, batch_size=64, shuffle=True)
for t in range(16):
    print(f"Epoch {t + 1}, avg loss: {loop(model, loader, criterion, optimizer):>7f}")
with torch.no_grad():
    acc = (model(X[perm[1200:]]).argmax(1) == y[perm[1200:]]).float().mean().item()
print(f"Accuracy: {acc:.3f}")
