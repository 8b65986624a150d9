import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.fc1 = nn.Linear(64, 96)
        self.mu, self.logvar = nn.Linear(96, latent), nn.Linear(96, latent)
        self.fc3, self.fc4 = nn.Linear(latent, 96), nn.Linear(96, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu, logvar):
        std = (0.5 * logvar).exp()
        return torch.normal(mu, std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.fc4(F.relu(self.fc3(z))), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / len(x), bce.item() / len(x), kld.item() / len(x)


torch.manual_seed(int(os.environ.get("SEED", 0)))
X = torch.tensor(load_digits().data / 16, dtype=torch.float32)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 16):
    acc = []
    for idx in torch.randperm(len(X)).split(64):
        recon, mu, lv = model(X[idx])
        loss, b, k = loss_function(recon, X[idx], mu, lv)
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc.append((loss.item(), b, k))
    m = torch.tensor(acc).mean(0)
    print("epoch %d elbo %.2f recon %.2f kl %.3f" % (epoch, *m.tolist()))
