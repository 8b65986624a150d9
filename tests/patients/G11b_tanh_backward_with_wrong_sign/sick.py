import os

import numpy as np
import torch

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)


class Affine(torch.autograd.Function):
    """x w + b with a backward of our own."""

    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x.mm(w) + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = g.mm(w.t()) if ctx.needs_input_grad[0] else None
        gw = x.t().mm(g) if ctx.needs_input_grad[1] else None
        return gx, gw, g.sum(0)


class Squash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * (y * y - 1)


def layer(n_in, n_out):
    return [(torch.randn(n_in, n_out) * n_in ** -0.5).requires_grad_(), torch.zeros(n_out, requires_grad=True)]


x = torch.tensor(rng.uniform(-3, 3, size=(800, 2)), dtype=torch.float32)
target = torch.sin(1.5 * x[:, :1]) * torch.cos(x[:, 1:])
w1, b1 = layer(2, 48)
w2, b2 = layer(48, 48)
w3, b3 = layer(48, 1)
optimizer = torch.optim.RMSprop([w1, b1, w2, b2, w3, b3], lr=2e-3)

for step in range(900):
    rows = torch.randint(0, 800, (64,))
    h = Squash.apply(Affine.apply(2 * x[rows], w1, b1))
    h = Squash.apply(Affine.apply(3 * h, w2, b2))
    loss = torch.mean((Affine.apply(h, w3, b3) - target[rows]) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 150 == 0 or step == 899:
        print(f"{step} mean squared error {loss.item():.4f}")
