import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
X, y = load_digits(return_X_y=True)
X = X / 16 + rng.normal(0, 0.15, X.shape)
order = rng.permutation(len(X))
X, y = X[order], y[order]
n = 1200

coarse = X.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)[:, [5, 9]]
knn = KNeighborsClassifier(n_neighbors=15, weights="distance").fit(coarse[:n], y[:n])
votes_train = cross_val_predict(knn, coarse[:n], y[:n], cv=5, method="predict_proba")
votes_val = knn.predict_proba(coarse[n:])

f32 = lambda a: torch.tensor(a, dtype=torch.float32)
train = {"x": f32(X[:n]), "votes": f32(votes_train), "y": torch.tensor(y[:n])}
val = {"x": f32(X[n:]), "votes": f32(votes_val), "y": torch.tensor(y[n:])}


class Stacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x, votes):
        return self.mlp(x) + self.weight * torch.log(votes + 0.01)


model = Stacked()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(500):
    i = torch.randint(0, n, (64,))
    loss = nn.functional.cross_entropy(model(train["x"][i], train["votes"][i]), train["y"][i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    logits = model(val["x"], val["votes"])
print("val cross-entropy", nn.functional.cross_entropy(logits, val["y"]).item())
print("val accuracy", (logits.argmax(1) == val["y"]).float().mean().item())
