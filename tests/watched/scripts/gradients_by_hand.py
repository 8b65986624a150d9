"""autograd.grad, functional parameters, .data updates, gradient hooks, a penalty of second order."""
import os

import torch
from torch import nn

torch.manual_seed(10)
x = torch.randn(48, 4)
y = (x[:, :1] * x[:, 1:2]).tanh()
model = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 1))
shift = torch.zeros(4, requires_grad=True)
shift.register_hook(lambda grad: grad * 0.5)
for step in range(30):
    points = (x + shift).clone()
    out = model(points)
    slope, = torch.autograd.grad(out.sum(), points, create_graph=True)
    loss = nn.functional.mse_loss(out, y) + 1e-3 * slope.square().mean()
    model.zero_grad()
    shift.grad = None
    loss.backward()
    for p in [*model.parameters(), shift]:
        p.data -= 0.1 * p.grad.data
    if step % 10 == 9:
        fast = {name: p - 0.01 * g for (name, p), g in zip(model.named_parameters(), torch.autograd.grad(
            nn.functional.mse_loss(model(x), y), list(model.parameters()), create_graph=True))}
        meta = nn.functional.mse_loss(torch.func.functional_call(model, fast, (x,)), y)
        print(step, loss.item(), meta.item())
torch.save({**model.state_dict(), "shift": shift.detach()}, os.environ["WEIGHTS"])
