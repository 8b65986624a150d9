import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
order = torch.randperm(len(y))
loader = DataLoader(TensorDataset(x[order[:1200]], y[order[:1200]]), 40, shuffle=True)
test_x, test_y = x[order[1200:]], y[order[1200:]]

body = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
head = nn.Linear(96, 10)
model = nn.Sequential(body, head)


def run_epoch(optimizer):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    return loss.item()


for p in body.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(head.parameters(), lr=0.5, momentum=0.9)
scheduler = ExponentialLR(optimizer, gamma=0.6)
for epoch in range(10):
    if epoch == 2:  # the head is warm: now train everything
        for p in body.parameters():
            p.requires_grad = True
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        scheduler = ExponentialLR(optimizer, gamma=0.6)
    loss = run_epoch(optimizer)
    scheduler.step()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss:.4f} test accuracy {accuracy:.4f}")
