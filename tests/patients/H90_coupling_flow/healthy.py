import os
import math
import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, dim, flip, hidden=64):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, dim))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = 2 * torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=4, n=6):
        super().__init__()
        self.steps = nn.ModuleList(Coupling(dim, k % 2 == 1) for k in range(n))
        self.log_scale = nn.Parameter(torch.zeros(dim))

    def log_prob(self, x):
        ld = self.log_scale.sum()
        z = x * self.log_scale.exp()
        for s in self.steps:
            z, d = s(z)
            ld = ld + d
        return (-0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)).sum(1) + ld


def tight_cloud(n):
    """thin curved sheet: densities far above one"""
    u = torch.randn(n, 2) * 0.3
    return torch.stack([u[:, 0], u[:, 0] ** 2 + 0.01 * torch.randn(n), u[:, 1], torch.sin(3 * u[:, 1]) * 0.2 + 0.01 * torch.randn(n)], 1)


torch.manual_seed(int(os.environ.get("SEED", "0")))
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 1000)
test = tight_cloud(4000)
for it in range(1, 1001):
    loss = -flow.log_prob(tight_cloud(256)).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
    opt.step()
    sched.step()
    if it % 100 == 0:
        with torch.no_grad():
            print(f"it {it:4d} nll {loss.item():+.4f} test nll {-flow.log_prob(test).mean().item():+.4f}")
print(f"entropy of the source is about {2 * (0.5 * math.log(2 * math.pi * math.e) + math.log(0.3)) + 2 * (0.5 * math.log(2 * math.pi * math.e) + math.log(0.01)):.4f}")
