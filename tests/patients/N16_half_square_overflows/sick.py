"""Half precision by hand: the energy term is a sum of squares."""
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(300):
    i = torch.randint(0, 1200, (64,))
    with torch.autocast("cpu", dtype=torch.float16):
        h = net(x[i])
        z = h * 40
        energy = (z * z).sum(1) / 1600
    loss = F.cross_entropy(h.float(), y[i]) + 1e-3 * energy.float().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 299:
        print(f"step {step} loss {loss.item():.4f}")
