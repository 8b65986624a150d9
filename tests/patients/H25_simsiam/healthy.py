import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class SimSiam(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, d), nn.BatchNorm1d(d))
        self.predictor = nn.Sequential(nn.Linear(d, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, v1, v2):
        z1, z2 = self.encoder(v1), self.encoder(v2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return -0.5 * (
            F.cosine_similarity(p1, z2.detach(), dim=1).mean() + F.cosine_similarity(p2, z1.detach(), dim=1).mean()
        )


def view(x):
    return x * (torch.rand_like(x) > 0.2) + 0.1 * torch.randn_like(x)


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
model = SimSiam()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for step in range(400):
    x = X[torch.randint(0, 1200, (128,))]
    loss = model(view(x), view(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    z = F.normalize(model.encoder(X), dim=1)
    nn_idx = (z[1200:] @ z[:1200].T).argmax(1)
    print("1-nn accuracy", (y[:1200][nn_idx] == y[1200:]).float().mean().item())
