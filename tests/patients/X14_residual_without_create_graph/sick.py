# PINN for  u''(x) = -pi^2 sin(pi x) on [-1, 1],  u(-1) = u(1) = 0.  Solution: sin(pi x)
import math
import os
import torch

torch.manual_seed(int(os.environ.get("SEED", 0)))


def make_net(widths=(1, 32, 32, 32, 1)):
    mods = []
    for a, b in zip(widths[:-1], widths[1:]):
        lin = torch.nn.Linear(a, b)
        torch.nn.init.xavier_normal_(lin.weight)
        torch.nn.init.zeros_(lin.bias)
        mods += [lin, torch.nn.Tanh()]
    return torch.nn.Sequential(*mods[:-1])


def residual(net, x):
    x = x.clone().requires_grad_(True)
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, x, torch.ones_like(du))[0]
    return d2u + math.pi ** 2 * torch.sin(math.pi * x)


def boundary(net):
    xb = torch.tensor([[-1.0], [1.0]])
    return net(xb).pow(2).mean()


net = make_net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
grid = torch.linspace(-1, 1, 201)[:, None]
exact = torch.sin(math.pi * grid)

for it in range(3001):
    x = torch.rand(64, 1) * 2 - 1
    l_pde = residual(net, x).pow(2).mean()
    l_bc = boundary(net)
    loss = l_pde + 20.0 * l_bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 300 == 0:
        with torch.no_grad():
            rel = ((net(grid) - exact).norm() / exact.norm()).item()
        print(f"{it:5d}  pde {l_pde.item():10.5f}  bc {l_bc.item():.3e}  rel-L2 {rel:.4f}")
