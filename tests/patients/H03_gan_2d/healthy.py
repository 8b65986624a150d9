import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", "0")))


def real_batch(n):
    a = torch.rand(n) * 2 * math.pi
    return torch.stack([a.cos(), a.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))

for step in range(1200):
    x = real_batch(128)
    fake = G(torch.randn(128, 4))
    d_loss = F.softplus(-D(x)).mean() + F.softplus(D(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 200 == 0 or step == 1199:
        print(f"{step} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f}")

with torch.no_grad():
    r = G(torch.randn(2000, 4)).norm(dim=1)
print("share of samples near the ring", ((r - 2).abs() < 0.4).float().mean().item())
