import os
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], F.one_hot(self.y[i], 10).float()


def mix_collate(items, alpha, smoothing):
    x = torch.stack([i[0] for i in items])
    y = torch.stack([i[1] for i in items])
    y = y * (1 - smoothing) + smoothing / y.size(1)
    lam = torch.distributions.Beta(alpha, alpha).sample()
    j = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[j], lam * y + (1 - lam) * y[j]


class ConvNeXtBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.dw = nn.Conv2d(d, d, 3, padding=1, groups=d)
        self.norm = nn.GroupNorm(1, d)
        self.pw = nn.Sequential(nn.Conv2d(d, 3 * d, 1), nn.GELU(), nn.Conv2d(3 * d, d, 1))
        self.gamma = nn.Parameter(1e-4 * torch.ones(d, 1, 1))

    def forward(self, x):
        return x + self.gamma * self.pw(self.norm(self.dw(x)))


def main():
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    b = load_digits()
    x, y = torch.tensor(b.images, dtype=torch.float32)[:, None] / 16, torch.tensor(b.target)
    p = torch.randperm(len(y))
    tr, te = p[:1440], p[1440:]
    loader = DataLoader(Digits(x[tr], y[tr]), batch_size=48, shuffle=True,
                        collate_fn=partial(mix_collate, alpha=0.8, smoothing=0.2))
    net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.GELU(), ConvNeXtBlock(32), nn.Conv2d(32, 48, 2, 2),
                        ConvNeXtBlock(48), nn.Conv2d(48, 64, 2, 2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Dropout(0.3), nn.Linear(64, 10))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, epochs=12, steps_per_epoch=len(loader))
    for epoch in range(12):
        net.train()
        s = acc = 0.0
        for xb, yb in loader:
            out = net(xb)
            loss = F.cross_entropy(out, yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            s += loss.item()
            acc += (out.argmax(1) == yb.argmax(1)).float().mean().item()
        net.eval()
        with torch.no_grad():
            out = net(x[te])
            print(f"epoch {epoch + 1:2d} train loss {s / len(loader):.3f} (acc {acc / len(loader):.3f}) "
                  f"val loss {F.cross_entropy(out, y[te]).item():.3f} acc {(out.argmax(1) == y[te]).float().mean().item():.3f}")


main()
