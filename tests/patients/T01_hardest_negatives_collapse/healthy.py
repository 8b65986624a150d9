import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
pixels, digit = load_digits(return_X_y=True)
pixels = torch.tensor(pixels / 16, dtype=torch.float32) + 0.3 * torch.randn(1797, 64)
digit = torch.tensor(digit)

embed = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 16))


def triplet(z, label):
    distance = torch.cdist(z, z)
    same = label[:, None] == label[None]
    positive = (distance * same).sum(1) / same.sum(1)
    negative = (distance * ~same).sum(1) / (~same).sum(1)
    return F.softplus(positive - negative).mean()


optimizer = torch.optim.Adam(embed.parameters(), lr=3e-3)
for step in range(400):
    rows = torch.randint(0, 1400, (64,))
    loss = triplet(embed(pixels[rows]), digit[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    z = embed(pixels)
    nearest = torch.cdist(z[1400:], z[:1400]).argmin(1)
print("1-nn accuracy", (digit[nearest] == digit[1400:]).float().mean().item())
