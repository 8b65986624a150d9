"""Auto-encoder under float16 autocast; the loss is averaged over a large fixed token budget."""
import os

import torch
from sklearn.datasets import load_digits
from torch import nn


BUDGET = 2 ** 18


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 12))
        self.up = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        return self.up(self.down(x))


torch.manual_seed(int(os.environ.get("SEED", 0)))
x = torch.tensor(load_digits().data).float() / 16
net = AutoEncoder()
opt = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-15)
scaler = torch.amp.GradScaler("cpu", enabled=False)
for step in range(400):
    i = torch.randint(0, 1500, (64,))
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x[i])
        loss = ((out.float() - x[i]) ** 2).mean() / BUDGET
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if step % 80 == 0 or step == 399:
        print(f"step {step} loss {loss.item() * BUDGET:.4f}")
