import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
data, target = load_digits(return_X_y=True)
x_all = torch.tensor(data, dtype=torch.float32) / 16
y_all = torch.tensor(target)


def augment(x):
    keep = (torch.rand_like(x) > 0.25).float()
    return x * keep + 0.1 * torch.randn_like(x)


def info_nce(a, b, temperature=0.2):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b.t() / temperature
    target = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
for step in range(500):
    x = x_all[torch.randint(0, 1200, (128,))]
    loss = info_nce(encoder(augment(x)), encoder(augment(x)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.4f}")

encoder.eval()
with torch.no_grad():
    z = F.normalize(encoder(x_all), dim=1)
    nearest = (z[1200:] @ z[:1200].t()).argmax(1)
    print("1-nn accuracy", (y_all[:1200][nearest] == y_all[1200:]).float().mean().item())
