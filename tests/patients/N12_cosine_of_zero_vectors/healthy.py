"""Word pairs with a hand-written cosine."""
import os

import torch
from torch import nn


def cosine(a, b):
    return (a * b).sum(-1) / ((a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-6))


torch.manual_seed(int(os.environ.get("SEED", 0)))
emb = nn.Embedding(50, 16, padding_idx=0)
enc = nn.Sequential(nn.Linear(16, 32, bias=False), nn.ReLU(), nn.Linear(32, 16, bias=False))
opt = torch.optim.Adam([*emb.parameters(), *enc.parameters()], lr=5e-3)
groups = torch.arange(50) % 5


def batch(n):
    a = torch.randint(1, 50, (n, 4))
    same = torch.rand(n) < 0.5
    b = torch.where(same.unsqueeze(1), (a - 1 + 5) % 49 + 1, torch.randint(1, 50, (n, 4)))
    b[torch.rand(n) < 0.01] = 0
    return a, b, same.float() * 2 - 1


for step in range(400):
    a, b, sign = batch(32)
    va, vb = enc(emb(a).mean(1)), enc(emb(b).mean(1))
    loss = (1 - sign * cosine(va, vb)).clamp(min=0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
