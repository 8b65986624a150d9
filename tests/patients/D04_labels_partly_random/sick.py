import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
X, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]


def noisy(labels, share):
    """What a hurried annotator hands in."""
    slips = torch.rand(len(labels)) < share
    return torch.where(slips, torch.randint(0, 10, (len(labels),)), labels)


y_train = noisy(y[:1300], 0.45)
loader = DataLoader(TensorDataset(X[:1300], y_train), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(18):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        correct = (model(X[1300:]).argmax(dim=1) == y[1300:]).float().mean().item()
    print(f"epoch {epoch} train loss {total / 1300:.4f} val acc {correct:.3f}")
