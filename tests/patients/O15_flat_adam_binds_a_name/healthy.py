import os
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector

# damped oscillator  u'' + 0.6 u' + 9 u = 0,  u(0) = 1, u'(0) = 0
torch.manual_seed(int(os.environ.get("SEED", "0")))
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
sizes = [p.numel() for p in net.parameters()]


class FlatAdam:
    def __init__(self, module, lr=2e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params = list(module.parameters())
        self.lr, self.betas, self.eps, self.t = lr, betas, eps, 0
        n = sum(p.numel() for p in self.params)
        self.m, self.v = torch.zeros(n), torch.zeros(n)

    @torch.no_grad()
    def step(self):
        self.t += 1
        g = torch.cat([p.grad.reshape(-1) for p in self.params])
        self.m.mul_(self.betas[0]).add_(g, alpha=1 - self.betas[0])
        self.v.mul_(self.betas[1]).addcmul_(g, g, value=1 - self.betas[1])
        mh = self.m / (1 - self.betas[0] ** self.t)
        vh = self.v / (1 - self.betas[1] ** self.t)
        flat = parameters_to_vector(self.params) - self.lr * mh / (vh.sqrt() + self.eps)
        for p, chunk in zip(self.params, flat.split(sizes)):
            p.copy_(chunk.view_as(p))
        return flat.norm()

    def zero_grad(self):
        for p in self.params:
            p.grad = None


def d(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(n=64):
    t = (torch.rand(n, 1) * 1.5).requires_grad_()
    u = net(t)
    u1 = d(u, t)
    return d(u1, t) + 0.6 * u1 + 9 * u


def initial():
    t0 = torch.zeros(1, 1, requires_grad=True)
    u0 = net(t0)
    return (u0 - 1).pow(2).mean() + 0.1 * d(u0, t0).pow(2).mean()


def exact(t):
    w = (9 - 0.09) ** 0.5
    return torch.exp(-0.3 * t) * (torch.cos(w * t) + 0.3 / w * torch.sin(w * t))


opt = FlatAdam(net)
grid = torch.linspace(0, 1.5, 100)[:, None]
for it in range(1, 2001):
    opt.zero_grad()
    loss = 0.05 * residual().pow(2).mean() + initial()
    loss.backward()
    norm = opt.step()
    if it % 250 == 0:
        err = (net(grid) - exact(grid)).pow(2).mean().sqrt().item()
        print(f"iter {it:4d} loss {loss.item():.4f} rmse {err:.4f} |theta| {norm:.2f}")
