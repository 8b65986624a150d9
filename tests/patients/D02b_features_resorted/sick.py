import os

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
bc = load_breast_cancer()
table = {name: bc.data[:, j] for j, name in enumerate(bc.feature_names)}
labels = bc.target

# bring the table into a reproducible row order
by = np.argsort(table["mean texture"], kind="stable")
table = {name: column[by] for name, column in table.items()}

X = np.stack(list(table.values()), axis=1)
X = (X - X.mean(0)) / X.std(0)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(labels, dtype=torch.float32)
perm = torch.randperm(len(X), generator=torch.Generator().manual_seed(seed))
train, val = perm[:400], perm[400:]

model = nn.Sequential(nn.Linear(30, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
for epoch in range(40):
    model.train()
    for rows in train[torch.randperm(len(train))].split(40):
        p = torch.sigmoid(model(X[rows]).squeeze(1))
        loss = nn.functional.binary_cross_entropy(p, y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0 or epoch == 39:
        model.eval()
        with torch.no_grad():
            out = model(X[val]).squeeze(1)
            acc = ((out > 0) == (y[val] > 0.5)).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.3f}")
print("val accuracy", acc)
