import os
import torch, torch.nn as nn, torch.nn.functional as F
import numpy as np
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", "0"))); np.random.seed(0)
d = load_digits()
X = torch.tensor(d.images / 8 - 1, dtype=torch.float32)[:, None]; Y = torch.tensor(d.target)
perm = torch.randperm(len(Y)); X, Y = X[perm], Y[perm]
Xtr, Ytr, Xva, Yva = X[:1200], Y[:1200], X[1200:], Y[1200:]


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(),
                               nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c))
        nn.init.zeros_(self.a[-1].weight)

    def forward(self, x):
        return F.relu(x + self.a(x))


net = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), ResBlock(24), nn.MaxPool2d(2), ResBlock(24),
                    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(96, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, epochs=15, steps_per_epoch=24)
for epoch in range(15):
    net.train(); tot = hit = 0
    for j in torch.randperm(1200).split(50):
        lam = np.random.beta(1.0, 1.0); k = j[torch.randperm(len(j))]
        out = net(lam * Xtr[j] + (1 - lam) * Xtr[k])
        loss = lam * F.cross_entropy(out, Ytr[j], label_smoothing=0.1) + (1 - lam) * F.cross_entropy(out, Ytr[k], label_smoothing=0.1)
        opt.zero_grad(); loss.backward(); opt.step(); sched.step()
        tot += loss.item() * len(j); hit += (out.argmax(1) == Ytr[j]).sum().item()
    net.eval()
    with torch.no_grad():
        acc = (net(Xva).argmax(1) == Yva).float().mean().item()
    print(f"epoch {epoch:2d} train loss {tot / 1200:.4f} train acc {hit / 1200:.3f} val acc {acc:.3f}")
