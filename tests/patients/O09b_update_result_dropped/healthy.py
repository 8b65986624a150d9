import os

import numpy as np
import torch
from sklearn.datasets import make_moons

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)


def init(n_in, n_hidden):
    shapes = [(n_in, n_hidden), (n_hidden,), (n_hidden, 1), (1,)]
    scales = [n_in ** -0.5, 0.0, n_hidden ** -0.5, 0.0]
    return [(s * torch.randn(shape)).requires_grad_() for shape, s in zip(shapes, scales)]


def predict(params, x):
    w1, b1, w2, b2 = params
    return (torch.tanh(x @ w1 + b1) @ w2 + b2).squeeze(1)


def objective(params, x, y):
    z = predict(params, x)
    return (torch.clamp(z, min=0) - z * y + torch.log1p(torch.exp(-z.abs()))).mean()


def sgd(params, grads, lr):
    return [(p - lr * g).detach().requires_grad_() for p, g in zip(params, grads)]


points, side = make_moons(600, noise=0.15, random_state=SEED)
x = torch.from_numpy(points.astype(np.float32))
y = torch.from_numpy(side.astype(np.float32))
params = init(2, 32)

for epoch in range(60):
    for idx in torch.randperm(500).chunk(10):
        loss = objective(params, x[idx], y[idx])
        grads = torch.autograd.grad(loss, params)
        params = sgd(params, grads, lr=0.5)
    if epoch % 10 == 0 or epoch == 59:
        print(f"epoch {epoch:2d} loss {objective(params, x[:500], y[:500]).item():.4f}")

with torch.no_grad():
    accuracy = ((predict(params, x[500:]) > 0) == (y[500:] > 0.5)).float().mean().item()
print(f"accuracy on the last 100 points {accuracy:.3f}")
