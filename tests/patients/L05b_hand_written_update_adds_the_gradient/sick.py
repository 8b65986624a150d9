import os

import torch
from torch import nn


def spiral(n, turns=1.5):
    arm = torch.randint(0, 2, (n,))
    r = torch.rand(n).sqrt()
    angle = r * turns * 3.1416 * 1.5 + arm * 3.1416
    points = torch.stack((r * angle.cos(), r * angle.sin()), 1) * 2 + 0.05 * torch.randn(n, 2)
    return points, arm.float()


class MomentumDescent:
    """Heavy ball; the velocity is kept next to each parameter."""

    def __init__(self, parameters, eta, mu=0.9):
        self.parameters, self.eta, self.mu = list(parameters), eta, mu
        self.velocity = [torch.zeros_like(p) for p in self.parameters]

    def clear(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def update(self):
        for p, v in zip(self.parameters, self.velocity):
            v.mul_(self.mu).add_(p.grad)
            p.add_(self.eta * v)


def main(seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1), nn.Flatten(0))
    descent = MomentumDescent(net.parameters(), eta=0.03)
    x, y = spiral(600)
    for epoch in range(30):
        for rows in torch.randperm(600).split(30):
            p = torch.sigmoid(net(x[rows])).clamp(1e-6, 1 - 1e-6)
            loss = -(y[rows] * p.log() + (1 - y[rows]) * (1 - p).log()).mean()
            descent.clear()
            loss.backward()
            descent.update()
        if epoch % 6 == 0 or epoch == 29:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    x, y = spiral(400)
    with torch.no_grad():
        print(f"accuracy {((net(x) > 0) == (y > 0)).float().mean().item():.3f}")


main(int(os.environ.get("SEED", 0)))
