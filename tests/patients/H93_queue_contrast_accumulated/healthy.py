"""Momentum contrast with batches of 16, a queue of keys and gradient accumulation over four batches."""
import copy
import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


class MoCo(nn.Module):
    def __init__(self, encoder, dim=32, K=512, m=0.99, T=0.1):
        super().__init__()
        self.q, self.k = encoder, copy.deepcopy(encoder)
        self.k.requires_grad_(False)
        self.m, self.T = m, T
        self.register_buffer("queue", F.normalize(torch.randn(K, dim), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def refresh(self, keys):
        for a, b in zip(self.k.parameters(), self.q.parameters()):
            a.lerp_(b, 1 - self.m)
        n = len(keys)
        self.queue[self.ptr:self.ptr + n] = keys
        self.ptr = (self.ptr + n) % len(self.queue)

    def forward(self, xq, xk):
        q = F.normalize(self.q(xq), dim=1)
        with torch.no_grad():
            k = F.normalize(self.k(xk), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().t()], 1) / self.T
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long)), k


def view(img):
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(img, (dx, dy), (1, 2)) + 0.15 * torch.randn_like(img)
    return (x * (torch.rand(len(img), 1, 1) * 0.6 + 0.7)).flatten(1)


torch.manual_seed(int(os.environ.get("SEED", "0")))
d = load_digits()
X = torch.tensor(d.images / 16, dtype=torch.float32)
enc = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 32))
moco = MoCo(enc)
opt = torch.optim.AdamW(moco.q.parameters(), lr=1e-3)
ACC = 4
PROBE = torch.cat([view(c) for c in X.split(1)])          # every image once, perturbed on its own


def probe():
    with torch.no_grad():
        z = F.normalize(enc(PROBE), dim=1).numpy()
    return KNeighborsClassifier(5).fit(z[:900], d.target[:900]).score(z[900:], d.target[900:])


print(f"untrained knn {probe():.3f}")
for epoch in range(24):
    tot, n = 0.0, 0
    for i, j in enumerate(torch.randperm(len(X))[:1792].split(16)):
        loss, keys = moco(view(X[j]), view(X[j]))
        (loss / ACC).backward()
        moco.refresh(keys)
        if (i + 1) % ACC == 0:
            opt.step()
            opt.zero_grad()
        tot += loss.item()
        n += 1
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {tot / n:.4f} knn {probe():.3f}")
