import os

import torch
from sklearn.datasets import load_breast_cancer

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Dense(torch.nn.Module):
    def __init__(self, n_in, n_out, squash=None, bias=0.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(n_out, n_in))
        self.bias = torch.nn.Parameter(torch.full((n_out,), bias))
        torch.nn.init.xavier_normal_(self.weight)
        self.squash = squash

    def forward(self, x):
        z = torch.nn.functional.linear(x, self.weight, self.bias)
        return z if self.squash is None else self.squash(z)


def standard(x):
    return (x - x.mean(0)) / x.std(0)


data = load_breast_cancer()
x = standard(torch.tensor(data.data, dtype=torch.float32))
y = torch.tensor(data.target, dtype=torch.float32)
shuffled = torch.randperm(len(x))
fit, held = shuffled[:450], shuffled[450:]

GATE_BIAS = 14.0
first = Dense(30, 32, torch.sigmoid, bias=GATE_BIAS)
second = Dense(32, 16, torch.sigmoid, bias=GATE_BIAS)
last = Dense(16, 1)
everything = [*first.parameters(), *second.parameters(), *last.parameters()]


def logit(rows):
    return last(second(first(rows))).squeeze(1)


optimizer = torch.optim.SGD(everything, lr=0.5)
bce = torch.nn.BCEWithLogitsLoss()
for epoch in range(40):
    for rows in fit[torch.randperm(450)].split(45):
        loss = bce(logit(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 8 == 0 or epoch == 39:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print(f"held-out accuracy {((logit(x[held]) > 0) == (y[held] > 0.5)).float().mean().item():.3f}")
