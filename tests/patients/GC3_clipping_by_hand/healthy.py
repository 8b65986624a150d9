import os
import tempfile
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


@dataclass
class TrainConfig:
    epochs: int = 8
    micro_batch: int = 16
    accumulate: int = 4
    lr: float = 0.05
    momentum: float = 0.9
    max_norm: float = 1.0
    seed: int = field(default_factory=lambda: int(os.environ.get("SEED", "0")))


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.GroupNorm(4, c), nn.ReLU(),
                               nn.Conv2d(c, c, 3, padding=1, bias=False), nn.GroupNorm(4, c))

    def forward(self, x):
        return torch.relu(x + self.f(x))


def build():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), ResBlock(16), nn.MaxPool2d(2), ResBlock(16),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def clip(model, max_norm):
    """Per-tensor clipping, so that one layer cannot take the whole budget."""
    worst = 0.0
    for p in model.parameters():
        n = p.grad.norm()
        worst = max(worst, n.item())
        p.grad.mul_((max_norm / (n + 1e-6)).clamp(max=1.0))
    return worst


def train(cfg):
    torch.manual_seed(cfg.seed)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target)
    order = torch.randperm(len(y))
    tr, te = order[:1408], order[1408:]
    model = build()
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)
    lossf = nn.CrossEntropyLoss()
    ckpt = os.path.join(tempfile.mkdtemp(), "best.pt")
    best = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        running, norms = 0.0, []
        chunks = tr[torch.randperm(len(tr))].split(cfg.micro_batch)
        for i, sel in enumerate(chunks):
            loss = lossf(model(x[sel]), y[sel])
            (loss / cfg.accumulate).backward()
            running += loss.item()
            if (i + 1) % cfg.accumulate == 0:
                norms.append(clip(model, cfg.max_norm))
                opt.step()
                opt.zero_grad()
        model.eval()
        with torch.no_grad():
            acc = (model(x[te]).argmax(1) == y[te]).float().mean().item()
        if acc > best:
            best = acc
            torch.save(model.state_dict(), ckpt)
        print(f"epoch {epoch} loss {running / len(chunks):.4f} grad-norm {sum(norms) / len(norms):.3f} acc {acc:.4f}")
    model.load_state_dict(torch.load(ckpt))
    print(f"best accuracy {best:.4f}")


train(TrainConfig())
