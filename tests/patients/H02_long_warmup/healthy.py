import os
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    peak_lr: float = 2e-3
    start_lr: float = 1e-7
    warmup: int = 150
    epochs: int = 30
    batch: int = 64
    seed: int = int(os.environ.get("SEED", 0))


def build(cfg):
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.peak_lr, weight_decay=0.01)
    floor = cfg.start_lr / cfg.peak_lr
    sched = LambdaLR(opt, lambda s: min(1.0, max(floor, (s / cfg.warmup) ** 3)))
    return model, opt, sched


def main(cfg):
    torch.manual_seed(cfg.seed)
    data, target = load_digits(return_X_y=True)
    ds = TensorDataset(torch.tensor(data / 16, dtype=torch.float32), torch.tensor(target))
    train, val = torch.utils.data.random_split(ds, [1200, len(ds) - 1200])
    loader = DataLoader(train, batch_size=cfg.batch, shuffle=True)
    model, opt, sched = build(cfg)
    step = 0
    for epoch in range(cfg.epochs):
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            if step % 50 == 0:
                print(f"step {step:4d} lr {sched.get_last_lr()[0]:.2e} loss {loss.item():.4f}")
            step += 1
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in DataLoader(val, batch_size=256):
            hits += (model(xb).argmax(-1) == yb).sum().item()
    print("val acc", hits / len(val))


if __name__ == "__main__":
    main(Config())
