import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def load_split(seed):
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    train_rows, val_rows = [], []
    for c in range(10):
        rows = rng.permutation(np.flatnonzero(y == c))
        train_rows.append(rows[:120])
        val_rows.append(rows[120:])
    pick = lambda r: TensorDataset(torch.tensor(x[r], dtype=torch.float32) / 16, torch.tensor(y[r]))
    return pick(np.concatenate(train_rows)), pick(np.concatenate(val_rows))


class Classifier:
    def __init__(self, lr):
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            losses = []
            for x, y in loader:
                loss = nn.functional.cross_entropy(self.net(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                losses.append(loss.item())
            print(f"epoch {epoch} loss {np.mean(losses):.4f}")

    def score(self, dataset):
        x, y = dataset.tensors
        with torch.no_grad():
            return (self.net(x).argmax(1) == y).float().mean().item()


seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
train, val = load_split(seed)
loader = DataLoader(train, batch_size=40, shuffle=True)
clf = Classifier(lr=0.05)
clf.fit(loader, epochs=15)
print("val accuracy", clf.score(val))
