import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
n = 4000
x = torch.randn(n, 10)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 2.3).float()
xt, yt, xv, yv = x[:3000], y[:3000], x[3000:], y[3000:]
prior = yt.mean().item()
print(f"positive share {prior:.3f}")

net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
nn.init.constant_(net[-1].bias, math.log(prior / (1 - prior)))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(16):
    running = 0.0
    for idx in torch.randperm(3000).split(100):
        logit = net(xt[idx]).squeeze(1)
        loss = F.binary_cross_entropy_with_logits(logit, yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() / 30
    if epoch % 3 == 0:
        with torch.no_grad():
            p = net(xv).squeeze(1) > 0
        recall = (p & (yv == 1)).sum() / yv.sum()
        print(f"epoch {epoch} loss {running:.4f} recall {recall:.3f}")
with torch.no_grad():
    p = net(xv).squeeze(1) > 0
print("minority recall", ((p & (yv == 1)).sum() / yv.sum()).item())
