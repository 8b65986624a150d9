import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 96), nn.ReLU())
        self.mu = nn.Linear(96, z)
        self.logvar = nn.Linear(96, z)
        self.dec = nn.Sequential(nn.Linear(z, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + kl, kl


torch.manual_seed(int(os.environ.get("SEED", 0)))
X = torch.tensor(load_digits().data, dtype=torch.float32) / 16
X = X[torch.randperm(len(X))]
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
for step in range(800):
    xb = X[torch.randint(0, 1500, (64,))]
    out, mu, logvar = vae(xb)
    loss, kl = elbo(out, xb, mu, logvar)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 799:
        print(f"step {step} loss {loss.item():.2f} kl {kl.item():.2f}")
with torch.no_grad():
    out, mu, logvar = vae(X[1500:])
    err = (torch.sigmoid(out) - X[1500:]).pow(2).mean() / X[1500:].var(0).mean()
print("unexplained variance of the reconstruction", err.item())
