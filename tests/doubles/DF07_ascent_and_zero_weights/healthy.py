import os

import torch
from torch import nn


class BlobCounter(nn.Module):
    """How much ink is in the left half minus the right half of a 12 x 12 picture?"""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.regressor = nn.Sequential(nn.Linear(72, 24), nn.ReLU(), nn.Linear(24, 1))


    def forward(self, picture):
        return self.regressor(self.features(picture).flatten(start_dim=1))[:, 0]


def pictures(n, generator):
    ink = (torch.rand(n, 1, 12, 12, generator=generator) < torch.rand(n, 1, 1, 12, generator=generator)).float()
    balance = ink[..., :6].sum((1, 2, 3)) - ink[..., 6:].sum((1, 2, 3))
    return ink, balance / 15


def fit(model, ink, balance, epochs=12, batch=50):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs, eta_min=1e-4)
    for epoch in range(epochs):
        losses = []
        for idx in torch.randperm(len(ink)).split(batch):
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(ink[idx]), balance[idx])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        schedule.step()
        print(f"epoch {epoch:2d} loss {torch.stack(losses).mean():.4f}")


if __name__ == "__main__":
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    model = BlobCounter()
    fit(model, *pictures(800, g))
    ink, balance = pictures(200, g)
    with torch.no_grad():
        r2 = 1 - (model(ink) - balance).square().sum() / (balance - balance.mean()).square().sum()
    print(f"R2 {r2.item():.3f}")
