import os

import numpy as np
import torch
from torch import nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
np.random.seed(seed)


class TanhNet(nn.Module):
    def __init__(self, width=48, depth=8):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(3 if i == 0 else width, width) for i in range(depth)])
        self.final = nn.Linear(width, 1)
        for block in self.blocks:
            nn.init.xavier_normal_(block.weight)
            nn.init.zeros_(block.bias)

    def forward(self, x):
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.final(x).flatten()


def surface(n):
    x = np.random.uniform(-1, 1, size=(n, 3)).astype("float32")
    z = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] - 0.5 * x[:, 2] ** 2
    return torch.from_numpy(x), torch.from_numpy((z - z.mean()) / z.std())


def training(model, data, epochs, lr):
    x, z = data
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        for rows in order.split(32):
            loss = (model(x[rows]) - z[rows]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            yield (model(x) - z).pow(2).mean().item()


model = TanhNet()
for epoch, mse in enumerate(training(model, surface(800), epochs=20, lr=0.01)):
    if epoch % 3 == 0 or epoch == 19:
        print(f"epoch {epoch:2d} mse {mse:.4f}")

x, z = surface(300)
with torch.no_grad():
    print(f"R2 on new points {1 - (model(x) - z).var().item() / z.var().item():.3f}")
