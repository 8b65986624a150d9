import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class DigitsDataset(Dataset):
    def __init__(self, images, labels, seed=None):
        images, labels = np.asarray(images, dtype=np.float32), np.asarray(labels)
        if seed is not None:
            order = np.random.default_rng(seed).permutation(len(images))
            images, labels = images[order], labels[order]
        self.images = torch.from_numpy(images) / 16
        self.labels = torch.from_numpy(labels)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"image": self.images[i], "label": self.labels[i]}


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for batch in loader:
        loss = nn.functional.cross_entropy(model(batch["image"]), batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch["label"])
    return total / len(loader.dataset)


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(b["image"]).argmax(1) == b["label"]).sum().item() for b in loader) / len(loader.dataset)


if __name__ == "__main__":
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    d = load_digits()
    train = DataLoader(DigitsDataset(d.data[:1200], d.target[:1200], seed=seed), batch_size=64, shuffle=True)
    val = DataLoader(DigitsDataset(d.data[1200:], d.target[1200:]), batch_size=200)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(15):
        loss = train_epoch(model, train, optimizer)
        print(f"epoch {epoch} loss {loss:.4f} val_acc {validate(model, val):.3f}")
    print("val accuracy", validate(model, val))
