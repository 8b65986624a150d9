import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
idx = torch.randperm(len(X))
tr, va = idx[:1200], idx[1200:]

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.5)
sched = CosineAnnealingWarmRestarts(opt, T_0=100, eta_min=1e-3)
loss_fn = nn.CrossEntropyLoss()
hist = []
for step in range(500):
    b = tr[torch.randint(0, len(tr), (64,))]
    loss = loss_fn(model(X[b]), y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    hist.append(loss.item())
    if step % 25 == 0 or step == 499:
        print(f"step {step} lr {opt.param_groups[0]['lr']:.4f} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print("val accuracy", (model(X[va]).argmax(1) == y[va]).float().mean().item())
