import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class Auto(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 80), nn.Tanh())
        self.center = nn.Linear(80, latent)
        self.spread = nn.Linear(80, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 80), nn.Tanh(), nn.Linear(80, 64), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        center, spread = self.center(h), self.spread(h)
        z = center + torch.exp(spread / 2) * torch.randn_like(center)
        return self.decoder(z), center, spread


KL_WEIGHT = 400.0


def elbo(out, x, center, spread):
    reconstruction = F.mse_loss(out, x, reduction="sum") / len(x)
    kl = 0.5 * (center.square() + spread.exp() - spread - 1).sum(1).mean()
    return reconstruction + KL_WEIGHT * kl


torch.manual_seed(int(os.environ.get("SEED", 0)))
x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
model = Auto()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    for rows in torch.randperm(1500).split(50):
        out, center, spread = model(x[rows])
        loss = elbo(out, x[rows], center, spread)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0 or epoch == 19:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    out, _, _ = model(x[1500:])
print("unexplained variance", ((out - x[1500:]).pow(2).mean() / x[1500:].var(0).mean()).item())
