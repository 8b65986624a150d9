import os
from dataclasses import dataclass

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


@dataclass
class Config:
    base_lr: float = 1e-2
    base_batch: int = 256
    batch: int = 32
    epochs: int = 10

    @property
    def lr(self):
        """Linear scaling rule."""
        return self.base_lr * (self.batch / self.base_batch)


cfg = Config()
x, y = (torch.tensor(a, dtype=torch.float32) for a in load_breast_cancer(return_X_y=True))
shuffle = torch.randperm(len(x))
x, y = x[shuffle], y[shuffle]
x = (x - x[:450].mean(0)) / x[:450].std(0)

model = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-3)

for epoch in range(cfg.epochs):
    model.train()
    for i in range(0, 450, cfg.batch):
        xb, yb = x[i:i + cfg.batch][:450 - i], y[i:i + cfg.batch][:450 - i]
        logits = model(xb).squeeze(1)
        loss = loss_fn(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    accuracy = ((model(x[450:]).squeeze(1) > 0) == (y[450:] > 0.5)).float().mean()
print(f"test accuracy {accuracy.item():.3f}")
