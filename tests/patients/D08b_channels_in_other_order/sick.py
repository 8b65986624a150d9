import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def decode(raw):
    return raw


def decode_val(raw):
    return raw[..., ::-1]  # the other library hands out the channels the other way round


class Leaves(Dataset):
    """Little pictures of leaves: which colour is strong tells the disease, a stripe tells the rest."""

    def __init__(self, n, seed, reader):
        rng = np.random.default_rng(seed)
        self.kind = rng.integers(0, 4, n)
        base = np.array([[190, 90, 50], [60, 90, 180], [150, 150, 60], [60, 150, 150]])[self.kind]
        raw = base[:, None, None, :] + rng.normal(0, 45, (n, 12, 12, 3))
        self.raw, self.reader = raw.clip(0, 255).astype(np.uint8), reader

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        image = np.ascontiguousarray(self.reader(self.raw[i]))
        return torch.from_numpy(image).permute(2, 0, 1).float() / 127.5 - 1, int(self.kind[i])


def evaluate(net, loader):
    net.eval()
    total, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            total += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return total / n, hits / n


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    train = DataLoader(Leaves(800, seed, decode), batch_size=32, shuffle=True)
    val = DataLoader(Leaves(240, seed + 1000, decode_val), batch_size=60)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(4):
        net.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", round(loss.item(), 4), "val", evaluate(net, val))


main()
