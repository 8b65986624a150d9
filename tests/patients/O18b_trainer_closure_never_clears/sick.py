"""A small trainer class that hands every optimizer a closure."""
import os
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    epochs: int = 8
    batch: int = 32
    rate: float = 0.05
    seed: int = int(os.environ.get("SEED", "0"))


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.out = nn.Linear(96, 10)

    def forward(self, x):
        return self.out(self.body(x).flatten(1))


class Trainer:
    def __init__(self, net, settings):
        self.net, self.settings = net, settings
        self.opt = torch.optim.SGD(net.parameters(), lr=settings.rate, momentum=0.9, nesterov=True)

    def training_step(self, batch):
        images, targets = batch
        return F.cross_entropy(self.net(images), targets)

    def fit_batch(self, batch):
        def closure():
            loss = self.training_step(batch)
            loss.backward()
            return loss
        return self.opt.step(closure).item()

    def fit(self, train, test):
        for epoch in range(self.settings.epochs):
            self.net.train()
            mean = sum(self.fit_batch(batch) for batch in train) / len(train)
            print(f"epoch {epoch}  train loss {mean:.4f}  test acc {self.score(test):.4f}")

    @torch.no_grad()
    def score(self, test):
        self.net.eval()
        right = sum((self.net(x).argmax(1) == y).sum().item() for x, y in test)
        return right / len(test.dataset)


def main(settings):
    torch.manual_seed(settings.seed)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target))
    train, test = torch.utils.data.random_split(data, [1400, len(data) - 1400])
    Trainer(ConvNet(), settings).fit(DataLoader(train, settings.batch, shuffle=True), DataLoader(test, 256))


if __name__ == "__main__":
    main(Settings())
