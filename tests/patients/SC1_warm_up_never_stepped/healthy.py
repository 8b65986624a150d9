import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import LinearLR

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
order = torch.randperm(len(y))
train, test = order[:1200], order[1200:]
model = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
warm_up = LinearLR(optimizer, start_factor=1e-4, total_iters=40)

for epoch in range(10):
    for rows in train[torch.randperm(len(train))].split(60):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm_up.step()
    with torch.no_grad():
        accuracy = (model(x[test]).argmax(1) == y[test]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} test accuracy {accuracy:.4f}")
