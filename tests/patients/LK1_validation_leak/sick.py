import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
rng = np.random.default_rng(seed)

data, target = load_digits(return_X_y=True)
rows = rng.permutation(len(data))[:400]
data, target = data[rows] / 16 + rng.normal(0, 0.4, (400, 64)), target[rows]


def oversample(x, y, total):
    pick = rng.integers(len(x), size=total)
    return x[pick], y[pick]


def split(x, y, share=0.75):
    order = rng.permutation(len(x))
    cut = int(share * len(x))
    return x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]


data, target = oversample(data, target, 1600)
x, y, xv, yv = split(data, target)

x, xv = torch.tensor(x, dtype=torch.float32), torch.tensor(xv, dtype=torch.float32)
y, yv = torch.tensor(y), torch.tensor(yv)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    for b in torch.randperm(len(x)).split(50):
        optimizer.zero_grad()
        loss = criterion(model(x[b]), y[b])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(xv)
        val_acc = (out.argmax(1) == yv).float().mean().item()
    if epoch % 3 == 0 or epoch == 19:
        print(f"epoch {epoch} loss {loss.item():.4f} val_loss {criterion(out, yv).item():.4f} val_acc {val_acc:.3f}")
print("val accuracy", val_acc)
