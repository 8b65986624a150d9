import math
import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, r=8, alpha=16):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.A), self.B)


def train(net, params, X, y, steps, lr, tag):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for s in range(steps):
        i = torch.randint(0, len(X), (64,))
        loss = F.cross_entropy(net(X[i]), y[i])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if s % 100 == 0 or s == steps - 1:
            print(f"[{tag}] {s:4d} loss {loss.item():.4f}")


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data / 16).float(), torch.tensor(d.target)
X, y = X[(k := torch.randperm(len(X)))], y[k]

net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
train(net, net.parameters(), X[:1200], y[:1200], 300, 1e-3, "pretrain")

# new task: same images, rotated by 90 degrees
Xr = torch.rot90(X.view(-1, 8, 8), 1, (1, 2)).reshape(-1, 64)
for i in (0, 2, 4):
    net[i] = LoRALinear(net[i])
train(net, [p for p in net.parameters() if p.requires_grad], Xr[:1200], y[:1200], 400, 5e-3, "lora")
with torch.no_grad():
    print("val accuracy", (net(Xr[1200:]).argmax(1) == y[1200:]).float().mean().item())
