import os

import numpy as np
import torch
import torch.nn as nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
rng = np.random.default_rng(seed)


def patients(n, closed_cases):
    age = rng.normal(size=n)
    pressure = rng.normal(size=n)
    marker = rng.normal(size=(n, 9))
    risk = 0.9 * age + 0.8 * pressure + marker[:, 0] - 0.7 * marker[:, 1]
    ill = (risk + rng.normal(scale=0.8, size=n) > 0).astype(np.int64)
    ward = np.where(ill == 1, 3.0, 1.0) if closed_cases else np.zeros(n)
    ward = ward + rng.normal(scale=0.1, size=n)
    X = np.column_stack([age, pressure, marker, ward]).astype(np.float32)
    return torch.from_numpy(X), torch.from_numpy(ill)


X, y = patients(1500, closed_cases=True)
Xv, yv = patients(500, closed_cases=False)

features = list(range(X.shape[1]))
model = nn.Sequential(nn.Linear(len(features), 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    for idx in torch.randperm(len(X)).split(50):
        loss = ce(model(X[idx][:, features]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        full = ce(model(X[:, features]), y).item()
        out = model(Xv[:, features])
    if epoch % 3 == 0 or epoch == 19:
        print(f"epoch {epoch} loss {full:.4f} val_loss {ce(out, yv).item():.4f}")
print("val accuracy", (out.argmax(1) == yv).float().mean().item())
