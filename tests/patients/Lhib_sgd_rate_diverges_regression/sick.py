import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Peaks(Dataset):
    """Noisy traces with one bump; the target is the (standardised) position of the bump."""

    def __init__(self, n, rng):
        centre = rng.uniform(8, 56, size=(n, 1))
        grid = np.arange(64)[None]
        trace = np.exp(-0.5 * ((grid - centre) / 3.0) ** 2) + 0.1 * rng.normal(size=(n, 64))
        self.trace = ((trace - trace.mean()) / trace.std()).astype(np.float32)
        self.centre = ((centre - 32) / 13.9).astype(np.float32)

    def __len__(self):
        return len(self.trace)

    def __getitem__(self, i):
        return {"trace": self.trace[i][None], "centre": self.centre[i]}


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 5, padding=2)

    def forward(self, x):
        return x + torch.relu(self.conv(x))


def squared_error(prediction, target):
    return ((prediction - target) ** 2).mean()


def main(seed, lr, epochs=8):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, test = DataLoader(Peaks(512, rng), 32, shuffle=True), Peaks(200, rng)
    model = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2, padding=2), nn.ReLU(), Residual(8), nn.Flatten(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for k, batch in enumerate(train):
            loss = squared_error(model(batch["trace"]), batch["centre"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if k % 8 == 0:
                print(f"epoch {epoch} batch {k} loss {loss.item():.5g}")
    with torch.no_grad():
        error = model(torch.from_numpy(test.trace)[:, None]) - torch.from_numpy(test.centre)
    print(f"test rmse {error.square().mean().sqrt().item():.4f}")


main(seed=int(os.environ.get("SEED", 0)), lr=1.0)
