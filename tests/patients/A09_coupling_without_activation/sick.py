import math
import os

import torch
from sklearn.datasets import make_moons
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", "0")))


class Coupling(nn.Module):
    def __init__(self, flip, hidden=32):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat((b, a) if self.flip else (a, b), 1), s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.steps = nn.ModuleList(Coupling(i % 2 == 1) for i in range(n))

    def log_prob(self, x):
        logdet = 0
        for step in self.steps:
            x, ld = step(x)
            logdet = logdet + ld
        return -0.5 * x.pow(2).sum(1) - math.log(2 * math.pi) + logdet


data = torch.tensor(make_moons(3000, noise=0.06, random_state=1)[0], dtype=torch.float32)
data = (data - data.mean(0)) / data.std(0)
train, test = data[:2500], data[2500:]
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
ema = torch.optim.swa_utils.AveragedModel(flow, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
for it in range(1, 1501):
    x = train[torch.randint(0, len(train), (200,))]
    loss = -flow.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(flow)
    if it % 250 == 0:
        with torch.no_grad():
            nll = -ema.module.log_prob(test).mean().item()
        print(f"iter {it} train nll {loss.item():.3f} test nll (ema) {nll:.3f}")
