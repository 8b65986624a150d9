import os
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    seed: int = int(os.environ.get("SEED", 0))
    lr: float = 0.1
    epochs: int = 16
    batch_size: int = 64
    hidden: int = 64


class DigitsFromSensor:
    """The scanner delivers 16-bit counts, 0 to 64000."""

    def __init__(self, cfg):
        rng = np.random.default_rng(cfg.seed)
        images, labels = load_digits(return_X_y=True)
        counts = np.round(images * 4000).astype(np.float32)
        order = rng.permutation(len(counts))
        counts, labels = counts[order], labels[order]
        self.train = TensorDataset(torch.from_numpy(counts[:1200]), torch.from_numpy(labels[:1200]))
        self.val = TensorDataset(torch.from_numpy(counts[1200:]), torch.from_numpy(labels[1200:]))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.data = DigitsFromSensor(cfg)
        self.net = nn.Sequential(
            nn.Linear(64, cfg.hidden), nn.ReLU(),
            nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(),
            nn.Linear(cfg.hidden, 10),
        )
        self.opt = torch.optim.SGD(self.net.parameters(), lr=cfg.lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def train_epoch(self):
        self.net.train()
        losses = []
        for x, y in DataLoader(self.data.train, self.cfg.batch_size, shuffle=True):
            loss = self.loss_fn(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return losses

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        hits = sum((self.net(x).argmax(1) == y).sum().item() for x, y in DataLoader(self.data.val, 256))
        return hits / len(self.data.val)

    def fit(self):
        for epoch in range(self.cfg.epochs):
            losses = self.train_epoch()
            print(f"epoch {epoch:2d} first {losses[0]:.4f} mean {sum(losses) / len(losses):.4f} last {losses[-1]:.4f} "
                  f"val acc {self.evaluate():.3f}")


if __name__ == "__main__":
    Trainer(Config()).fit()
