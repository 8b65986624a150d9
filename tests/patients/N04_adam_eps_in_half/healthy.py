import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x = torch.tensor(digits.data / 16).half()
y = torch.tensor(digits.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]

model = nn.Sequential(
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
).half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)

for step in range(400):
    idx = torch.randint(0, 1200, (64,))
    logits = model(x[idx])
    loss = F.cross_entropy(logits.float(), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0 or step == 399:
        print(f"step {step:3d}: loss {loss.item():.4f}")

with torch.no_grad():
    pred = model(x[1200:]).float().argmax(dim=1)
print("val accuracy", (pred == y[1200:]).float().mean().item())
