import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x, y = torch.tensor(digits.data).float() / 16, torch.tensor(digits.target)
order = torch.randperm(len(y))
x, y, test_x, test_y = x[order[:1200]], y[order[:1200]], x[order[1200:]], y[order[1200:]]

net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
warmup_batches = 20

batch = 0
for epoch in range(12):
    for rows in torch.randperm(len(y)).split(60):
        if batch == warmup_batches:
            optimizer.lr = 0.2
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch += 1
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} test accuracy {accuracy:.4f}")
