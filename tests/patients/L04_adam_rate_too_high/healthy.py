import os
from collections import OrderedDict

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


class Experiment:
    """One training run of a fully connected net on the digits."""

    def __init__(self, seed, lr):
        torch.manual_seed(seed)
        raw = load_digits()
        full = TensorDataset(torch.tensor(raw.data / 16).float(), torch.tensor(raw.target))
        self.train_set, self.val_set = random_split(full, [1200, 597])
        self.model = nn.Sequential(OrderedDict(
            fc1=nn.Linear(64, 64), act1=nn.ReLU(),
            fc2=nn.Linear(64, 64), act2=nn.ReLU(),
            fc3=nn.Linear(64, 64), act3=nn.ReLU(),
            out=nn.Linear(64, 10),
        ))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def loss(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.model(x), y)

    def run(self, epochs):
        for epoch in range(epochs):
            for n, batch in enumerate(DataLoader(self.train_set, 64, shuffle=True)):
                self.opt.zero_grad()
                loss = self.loss(batch)
                loss.backward()
                self.opt.step()
                if n % 9 == 0:
                    print(f"{epoch:2d}.{n:02d} loss {loss.item():.4f}")
        return self.validate()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        x, y = next(iter(DataLoader(self.val_set, len(self.val_set))))
        return (self.model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    experiment = Experiment(seed=int(os.environ.get("SEED", 0)), lr=0.003)
    print(f"validation accuracy {experiment.run(epochs=12):.3f}")
