import dataclasses
import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


@dataclasses.dataclass
class HP:
    n_train: int = 60
    n_val: int = 500
    width: int = 128
    lr: float = 1e-3
    iters: int = 240
    batch: int = 60
    noise: float = 0.25
    seed: int = int(os.environ.get("SEED", "0"))


def prepare(hp):
    g = torch.Generator().manual_seed(hp.seed)
    d = load_digits()
    x = torch.tensor(d.data / 16.0, dtype=torch.float32)
    x = x + hp.noise * torch.randn(x.shape, generator=g)
    x = (x - x.mean(0)) / (x.std(0) + 1e-3)
    y = torch.tensor(d.target)
    p = torch.randperm(len(y), generator=g)
    tr, va = p[: hp.n_train], p[-hp.n_val:]
    return x[tr], y[tr], x[va], y[va]


def build(hp):
    return nn.Sequential(
        nn.Linear(64, hp.width), nn.GELU(),
        nn.Linear(hp.width, hp.width), nn.GELU(), nn.Dropout(0.2),
        nn.Linear(hp.width, 10))


hp = HP()
print(hp)
torch.manual_seed(hp.seed)
xt, yt, xv, yv = prepare(hp)
model = build(hp)
opt = torch.optim.AdamW(model.parameters(), lr=hp.lr, weight_decay=0.01)
pos, order = 0, torch.randperm(len(yt))
for it in range(1, hp.iters + 1):
    if pos + hp.batch > len(order):
        pos, order = 0, torch.randperm(len(yt))
    j = order[pos:pos + hp.batch]
    pos += hp.batch
    logits = model(xt[j])
    loss = F.cross_entropy(logits, yt[j])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        model.eval()
        with torch.no_grad():
            lv = model(xv)
        model.train()
        print(f"it {it:4d} train {loss.item():.4f} acc {(logits.argmax(1) == yt[j]).float().mean():.3f} "
              f"val {F.cross_entropy(lv, yv).item():.4f} acc {(lv.argmax(1) == yv).float().mean():.3f}")
