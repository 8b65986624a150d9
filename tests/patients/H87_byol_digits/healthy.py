"""Bootstrap-your-own-latent on 8x8 digits: EMA teacher, predictor, no negatives."""
import copy
import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression


def augment(x):
    b = x.size(0)
    x = x * (torch.rand(b, 64) > 0.2) * (0.7 + 0.6 * torch.rand(b, 1))
    return x + 0.1 * torch.randn_like(x)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self, tau=0.99):
        super().__init__()
        self.online = nn.Sequential(mlp(64, 256, 64), nn.BatchNorm1d(64), nn.ReLU(), mlp(64, 128, 32))
        self.predictor = mlp(32, 64, 32)
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(self.tau).add_(o, alpha=1 - self.tau)

    def side(self, a, b):
        q = F.normalize(self.predictor(self.online(a)), dim=1)
        with torch.no_grad():
            z = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (q * z).sum(1).mean()

    def forward(self, x):
        a, b = augment(x), augment(x)
        return self.side(a, b) + self.side(b, a)


torch.manual_seed(int(os.environ.get("SEED", "0")))
d = load_digits()
X = torch.tensor(d.data / 16, dtype=torch.float32)
model = BYOL()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3, weight_decay=1e-4)


def probe():
    model.eval()
    with torch.no_grad():
        z = model.online[:2](X)
    model.train()
    z = z.numpy()
    return LogisticRegression(max_iter=300).fit(z[:300], d.target[:300]).score(z[300:], d.target[300:]), z.std(0).mean()


for ep in range(40):
    tot = 0.0
    for j in torch.randperm(len(X))[:1792].split(128):
        loss = model(X[j])
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.update_target()
        tot += loss.item() / 14
    if ep % 5 == 4:
        acc, std = probe()
        print(f"epoch {ep + 1} loss {tot:.4f} linear probe {acc:.3f} feature std {std:.3f}")
