"""Denoising net for small scans. Clean pages are few, so every pass draws new noise over them."""
import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyScans(Dataset):
    def __init__(self, pages, level, seed):
        self.pages = pages
        self.level = level
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.pages)

    def __getitem__(self, index):
        page = self.pages[index]
        noise = self.rng.normal(0.0, self.level, page.shape).astype(np.float32)
        gain = np.float32(self.rng.uniform(0.7, 1.3))
        return page * gain + noise, page


def evaluate(net, pages, level):
    rng = np.random.default_rng(99)
    noisy = torch.from_numpy(pages + rng.normal(0.0, level, pages.shape).astype(np.float32))
    with torch.no_grad():
        return nn.functional.mse_loss(net(noisy), torch.from_numpy(pages)).item()


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    pages = (load_digits().data / 16).astype(np.float32)
    np.random.default_rng(seed).shuffle(pages)
    train, held_out = pages[:64], pages[1000:1400]
    data = NoisyScans(train, 0.4, seed)
    loader = DataLoader(data, batch_size=16, num_workers=4)
    net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 64))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(1, 41):
        total = 0.0
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(net(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 10 == 0:
            print(f"epoch {epoch} train {total / len(loader):.4f} held out {evaluate(net, held_out, 0.4):.4f}")


if __name__ == "__main__":
    main()
