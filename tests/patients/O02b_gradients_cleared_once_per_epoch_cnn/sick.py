import os
from dataclasses import dataclass

import torch
from torch import nn, optim


@dataclass
class Config:
    seed: int = int(os.environ.get("SEED", 0))
    epochs: int = 8
    batch: int = 32
    lr: float = 0.05
    length: int = 48


def chirps(n, length):
    """Three kinds of signal: rising pitch, falling pitch, constant pitch, with noise."""
    kind = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, length)
    slope = torch.tensor([1.0, -1.0, 0.0])[kind].unsqueeze(1)
    start = torch.tensor([2.0, 10.0, 6.0])[kind].unsqueeze(1)
    signal = torch.sin(6.28 * (start * t + 4 * slope * t**2) + torch.rand(n, 1) * 6.28)
    return {"signal": (signal + 0.2 * torch.randn(n, length)).unsqueeze(1), "kind": kind}


def build():
    return nn.Sequential(
        nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.ReLU(),
        nn.Conv1d(16, 16, 5, stride=2, padding=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 12, 3),
    )


def main(cfg):
    torch.manual_seed(cfg.seed)
    train, test = chirps(960, cfg.length), chirps(300, cfg.length)
    model, criterion = build(), nn.CrossEntropyLoss()
    opt = optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    for epoch in range(cfg.epochs):
        opt.zero_grad()
        order, running = torch.randperm(960), []
        for rows in order.split(cfg.batch):
            loss = criterion(model(train["signal"][rows]), train["kind"][rows])
            loss.backward()
            opt.step()
            running.append(loss.item())
        if epoch == 0:
            print(f"first batch loss {running[0]:.3f}")
        print(f"epoch {epoch} train loss {sum(running) / len(running):.3f}")
    with torch.no_grad():
        hits = model(test["signal"]).argmax(-1).eq(test["kind"])
    print(f"test accuracy {hits.float().mean().item():.3f}")


main(Config())
