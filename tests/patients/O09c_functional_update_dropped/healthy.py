import os

import torch
from sklearn.datasets import load_diabetes
from torch import nn

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
table = load_diabetes()
x = torch.tensor(table.data, dtype=torch.float32) * 20
y = torch.tensor(table.target, dtype=torch.float32)
y = (y - y.mean()) / y.std()
net = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))


def error(weights, rows, wanted):
    return (torch.func.functional_call(net, weights, (rows,)).squeeze(1) - wanted).square().mean()


def descend(weights, gradients, rate=0.05):
    return {name: value - rate * gradients[name] for name, value in weights.items()}


weights = {name: value.detach().clone() for name, value in net.named_parameters()}
slope = torch.func.grad(error)
for epoch in range(40):
    for pick in torch.randperm(400).split(40):
        weights = descend(weights, slope(weights, x[pick], y[pick]))
    if epoch % 8 == 0 or epoch == 39:
        print(f"epoch {epoch} error {error(weights, x[:400], y[:400]).item():.4f}")
print(f"held out {error(weights, x[400:], y[400:]).item():.4f}")
