"""Rare-defect detection: focal loss with class weight, prior in the output bias."""
import math
import os
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Args:
    prior: float = 0.03
    gamma: float = 2.0
    alpha: float = 0.75
    lr: float = 2e-3
    epochs: int = 12


class FocalLoss(nn.Module):
    def __init__(self, gamma, alpha):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logit, y):
        ce = nn.functional.binary_cross_entropy_with_logits(logit, y, reduction="none")
        p = torch.sigmoid(logit)
        pt = p * y + (1 - p) * (1 - y)
        a = self.alpha * y + (1 - self.alpha) * (1 - y)
        return (a * (1 - pt) ** self.gamma * ce).mean()


def parts(n, prior, g):
    y = (torch.rand(n, generator=g) < prior).float()
    x = torch.randn(n, 1, 16, 16, generator=g) * 0.5
    for i in y.nonzero().flatten().tolist():
        r, c = torch.randint(2, 11, (2,), generator=g).tolist()
        for s in range(4):
            x[i, 0, r + s, c + s] += 2.0
    return x, y


def main(a=Args()):
    seed = int(os.environ.get("SEED", "0"))
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    dl = DataLoader(TensorDataset(*parts(3000, a.prior, g)), 64, shuffle=True)
    xv, yv = parts(1500, a.prior, g)
    net = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 1))
    nn.init.constant_(net[-1].bias, -math.log((1 - a.prior) / a.prior))
    crit, opt = FocalLoss(a.gamma, a.alpha), torch.optim.Adam(net.parameters(), a.lr)
    for ep in range(a.epochs):
        tot = 0.0
        for x, y in dl:
            loss = crit(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() / len(dl)
        with torch.no_grad():
            pred = torch.cat([net(c).squeeze(1) for c in xv.split(500)]) > 0
        tp = (pred & (yv == 1)).sum().item()
        print(f"epoch {ep} focal {tot:.5f} recall {tp / yv.sum().item():.2f} precision {tp / max(pred.sum().item(), 1):.2f}")


if __name__ == "__main__":
    main()
