import os

import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, z_dim=2):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(nn.Linear(z_dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, n):
        return self.net(torch.randn(n, self.z_dim))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


def train(steps=1000, batch=128):
    gen, disc = Generator(), Discriminator()
    g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    d_opt = torch.optim.Adam(disc.parameters(), lr=2e-3, betas=(0.5, 0.9))
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)
    for step in range(steps):
        real = 3.0 + 0.7 * torch.randn(batch, 1)

        d_opt.zero_grad()
        d_loss = bce(disc(real), ones) + bce(disc(gen(batch).detach()), zeros)
        d_loss.backward()
        d_opt.step()

        g_opt.zero_grad()
        g_loss = bce(disc(gen(batch)), ones)
        g_loss.backward()
        g_opt.step()

        if step % 200 == 0 or step == steps - 1:
            print(f"[{step}] d_loss: {d_loss.item():.3f} g_loss: {g_loss.item():.3f}")
    return gen


if __name__ == "__main__":
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    gen = train()
    with torch.no_grad():
        s = gen(5000)
    print(f"generated std {s.std().item():.2f} mean (target 3.0) {s.mean().item():.3f}")
