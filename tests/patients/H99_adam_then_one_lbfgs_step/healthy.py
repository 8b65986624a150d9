# Network for u'' + u = 0, u(0) = 0, u'(0) = 1 on [0, 6]: Adam first, then one long L-BFGS call.
import os

import torch

torch.manual_seed(int(os.environ.get("SEED", "0")))
torch.set_default_dtype(torch.float64)


class Field(torch.nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.a, self.b, self.c = torch.nn.Linear(1, width), torch.nn.Linear(width, width), torch.nn.Linear(width, 1)

    def forward(self, t):
        h = torch.tanh(self.a(t / 3 - 1))
        return t + t ** 2 * self.c(torch.tanh(self.b(h)))


u = Field()
t = torch.linspace(0, 6, 80).reshape(-1, 1).requires_grad_()


def residual():
    y = u(t)
    first = torch.autograd.grad(y.sum(), t, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), t, create_graph=True)[0]
    return (second + y).pow(2).mean()


adam = torch.optim.Adam(u.parameters(), lr=3e-3)
for it in range(150):
    adam.zero_grad()
    r = residual()
    r.backward()
    adam.step()
    if it % 50 == 0:
        print(f"adam {it:4d} residual {r.item():.3e}")

lbfgs = torch.optim.LBFGS(u.parameters(), max_iter=150, history_size=30, line_search_fn="strong_wolfe")
seen = []


def closure():
    u.zero_grad()
    r = residual()
    r.backward()
    seen.append(r.item())
    if len(seen) % 50 == 0:
        print(f"lbfgs {len(seen):4d} residual {seen[-1]:.3e}")
    return r


lbfgs.step(closure)
with torch.no_grad():
    print(f"evaluations {len(seen)}, largest error {(u(t) - torch.sin(t)).abs().max().item():.3e}")
