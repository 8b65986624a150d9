import os
import math
import torch
import torch.nn as nn

torch.manual_seed(int(os.environ.get("SEED", "0")))


def real(n):
    k = torch.randint(0, 4, (n,)) * (math.pi / 2)
    return torch.stack([k.cos(), k.sin()], 1) * 1.5 + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
ema = [p.detach().clone() for p in G.parameters()]
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(128, 1), torch.zeros(128, 1)


def report(step, ld, lg):
    with torch.no_grad():
        s = G(torch.randn(2000, 8))
        ang = torch.arange(4) * (math.pi / 2)
        centres = torch.stack([ang.cos(), ang.sin()], 1) * 1.5
        dist, which = torch.cdist(s, centres).min(1)
        share = torch.bincount(which[dist < 0.4], minlength=4) / 2000
    print(f"step {step} d {ld:.3f} g {lg:.3f} on-mode {(dist < 0.4).float().mean():.2f} shares {[round(v, 2) for v in share.tolist()]}")


for step in range(1, 2501):
    x = real(128)
    fake = G(torch.randn(128, 8))
    loss_d = bce(D(x), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    with torch.no_grad():
        for e, p in zip(ema, G.parameters()):
            e.lerp_(p, 0.01)
    if step % 250 == 0:
        report(step, loss_d.item(), loss_g.item())

with torch.no_grad():
    for e, p in zip(ema, G.parameters()):
        p.copy_(e)
report("ema", float("nan"), float("nan"))
