import os

import numpy as np
import torch
from torch import nn

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)


class Encoder(nn.Module):
    def __init__(self, dim=20, code=12):
        super().__init__()
        self.up = nn.Linear(dim, 64)
        self.down = nn.Linear(64, code)
        self.back = nn.Linear(code, dim)

    def forward(self, x):
        z = self.down(torch.tanh(self.up(x)))
        return z, self.back(z)


class SparseReconstruction:
    """Reconstruction and a price on every active unit of the code."""

    def __init__(self, price):
        self.price = price
        self.history = []

    def __call__(self, x, z, rebuilt):
        error = ((rebuilt - x) ** 2).mean()
        activity = z.abs().mean().item()
        self.history.append(activity)
        return error + self.price * activity


class Trainer:
    def __init__(self, model, objective):
        self.model, self.objective = model, objective
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def epoch(self, data):
        seen = 0.0
        for x in data.split(64):
            self.opt.zero_grad()
            loss = self.objective(x, *self.model(x))
            loss.backward()
            self.opt.step()
            seen += loss.item() * len(x)
        return seen / len(data)


basis = rng.normal(size=(12, 20))
code = rng.normal(size=(1024, 12)) * (rng.random((1024, 12)) < 0.2)
data = torch.tensor(code @ basis, dtype=torch.float32)
data = data / data.std()
trainer = Trainer(Encoder(), SparseReconstruction(price=0.3))
for epoch in range(25):
    loss = trainer.epoch(data)
    if epoch % 4 == 0:
        print(f"epoch {epoch} loss {loss:.4f} activity {trainer.objective.history[-1]:.3f}")
with torch.no_grad():
    print(f"mean activity {trainer.model(data)[0].abs().mean().item():.3f}")
