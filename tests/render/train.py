"""A script that the reports of these tests point at; it is never run."""

from torch import nn, optim


def build():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


model = build()
optimizer = optim.SGD(model.parameters(), lr=0.1)
model = build()  # the one that is trained
