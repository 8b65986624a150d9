"""Matrix factorisation with biases on a synthetic ratings table."""
import os
import numpy as np
import torch
from torch import nn


class RatingsTable:
    def __init__(self, users=300, items=200, per_user=40, rank=4, seed=0):
        r = np.random.RandomState(seed)
        u, v = r.randn(users, rank), r.randn(items, rank)
        bu, bi = 0.4 * r.randn(users), 0.6 * r.randn(items)
        rows = []
        for k in range(users):
            for j in r.choice(items, per_user, replace=False):
                rows.append((k, j, 3.4 + bu[k] + bi[j] + 0.5 * u[k] @ v[j] + 0.2 * r.randn()))
        r.shuffle(rows)
        t = np.array(rows)
        self.users = torch.from_numpy(t[:, 0].astype(int))
        self.items = torch.from_numpy(t[:, 1].astype(int))
        self.stars = torch.from_numpy(t[:, 2].astype("float32"))
        self.cut = int(0.85 * len(t))

    def epoch(self, bs):
        p = torch.randperm(self.cut)
        for i in range(0, self.cut, bs):
            j = p[i:i + bs]
            yield self.users[j], self.items[j], self.stars[j]

    def holdout(self):
        s = slice(self.cut, None)
        return self.users[s], self.items[s], self.stars[s]


class BiasedMF(nn.Module):
    def __init__(self, users, items, k=8):
        super().__init__()
        self.p, self.q = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mu = nn.Parameter(torch.tensor(3.0))
        for e, s in ((self.p, 0.3), (self.q, 0.3), (self.bu, 0.01), (self.bi, 0.01)):
            nn.init.normal_(e.weight, std=s)

    def forward(self, u, i):
        return self.mu + (self.bu(u) + self.bi(i)).squeeze(1) + (self.p(u) * self.q(i)).sum(1)


def fit(seed):
    torch.manual_seed(seed)
    table = RatingsTable(seed=seed)
    model = BiasedMF(300, 200)
    groups = [{"params": [model.mu], "weight_decay": 0.0},
              {"params": [p for n, p in model.named_parameters() if n != "mu"],
               "weight_decay": 2e-5}]
    opt = torch.optim.Adam(groups, lr=5e-3)
    for ep in range(30):
        se = 0.0
        for u, i, r in table.epoch(128):
            loss = ((model(u, i) - r) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            se += loss.item() * len(r)
        if ep % 3 == 2:
            with torch.no_grad():
                u, i, r = table.holdout()
                rmse = ((model(u, i) - r) ** 2).mean().sqrt().item()
            print(f"epoch {ep + 1:2d} train mse {se / table.cut:.4f} holdout rmse {rmse:.4f} (std {r.std():.3f})")


if __name__ == "__main__":
    fit(int(os.environ.get("SEED", "0")))
