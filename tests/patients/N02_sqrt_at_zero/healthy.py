import os

import torch
from sklearn.datasets import load_digits
from torch import nn


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.layers(x)


def pair_distance(a, b):
    return (a - b).pow(2).sum(dim=1).add(1e-8).sqrt()


def contrastive_loss(dist, same, margin=2.0):
    pull = same * dist.pow(2)
    push = (1 - same) * torch.relu(margin - dist).pow(2)
    return (pull + push).mean()


class PairSampler:
    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size
        self.by_class = [torch.where(y == c)[0] for c in range(10)]

    def sample(self):
        i = torch.randint(0, len(self.x), (self.size,))
        j = torch.randint(0, len(self.x), (self.size,))
        for k in range(0, self.size, 2):
            members = self.by_class[int(self.y[i[k]])]
            j[k] = members[torch.randint(0, len(members), (1,))]
        return self.x[i], self.x[j], (self.y[i] == self.y[j]).float()


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(X))
X, y = X[p], y[p]
model, sampler = Embedder(), PairSampler(X[:600], y[:600], 64)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(301):
    a, b, same = sampler.sample()
    loss = contrastive_loss(pair_distance(model(a), model(b)), same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step:3d} loss {loss.item():.4f}")
with torch.no_grad():
    z = model(X).nan_to_num()
    nearest = torch.cdist(z[600:], z[:600]).argmin(1)
    print("1-nn accuracy", (y[:600][nearest] == y[600:]).float().mean().item())
