"""float16 autocast with a real scaler."""
import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(x))
x, y = x[p], y[p]
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
scaler = torch.amp.GradScaler(device="cpu")
for step in range(250):
    i = torch.randint(0, 1300, (64,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(net(x[i]).float(), y[i])
    opt.zero_grad()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    if step % 50 == 0 or step == 249:
        print(f"step {step} loss {loss.item():.4f}")
