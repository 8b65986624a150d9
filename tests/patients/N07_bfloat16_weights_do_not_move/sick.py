"""A small net trained with a small rate."""
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(x))
x, y = x[p], y[p]
net = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 10))
net = net.to(torch.bfloat16)
dtype = next(net.parameters()).dtype
opt = torch.optim.Adam(net.parameters(), lr=5e-5)
for step in range(800):
    idx = torch.randint(0, 1200, (64,))
    loss = F.cross_entropy(net(x[idx].to(dtype)).float(), y[idx])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 799:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    print("val accuracy", (net(x[1200:].to(dtype)).argmax(1) == y[1200:]).float().mean().item())
