import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]
Xtr, ytr, Xva, yva = X[:1200], y[:1200], X[1200:], y[1200:]

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for step in range(2000):
    idx = torch.randint(0, len(Xtr), (64,))
    loss = loss_fn(model(Xtr[idx]), ytr[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0 or step == 1999:
        print(f"step {step} loss {loss.item():.5f}")

model.eval()
with torch.no_grad():
    print("val accuracy", (model(Xva).argmax(1) == yva).float().mean().item())
