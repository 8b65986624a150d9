import os

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
raw = load_breast_cancer()
X = torch.tensor(raw.data, dtype=torch.float32)
y = torch.tensor(raw.target, dtype=torch.float32)
order = torch.randperm(len(X))
X, y = X[order], y[order]
X = 4 * (X - X.min(0).values) / (X.max(0).values - X.min(0).values)
train, test = TensorDataset(X[:400], y[:400]), TensorDataset(X[400:], y[400:])


def mlp(sizes, bn):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b, **bn), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


net = mlp([30, 32, 32, 1], dict(momentum=0.1, eps=1e-3))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(30):
    net.train()
    for xb, yb in DataLoader(train, batch_size=50, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(net(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        seen = [(criterion(net(xb).squeeze(1), yb).item(), ((net(xb).squeeze(1) > 0) == (yb > 0.5)).float().mean().item()) for xb, yb in DataLoader(test, batch_size=169)]
    if epoch % 5 == 0 or epoch == 29:
        print(f"epoch {epoch} loss {loss.item():.4f} test loss {seen[0][0]:.4f} accuracy {seen[0][1]:.3f}")
