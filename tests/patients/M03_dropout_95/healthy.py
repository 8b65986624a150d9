import argparse
import os

import torch
from sklearn.datasets import load_digits
from torch import nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--dropout", type=float, default=0.2)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--iters", type=int, default=500)
    return p.parse_args()


class DropNet(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, width), nn.Linear(width, width), nn.Linear(width, 10)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        x = self.drop(self.fc1(x).relu())
        x = self.drop(self.fc2(x).relu())
        return self.fc3(x)


args = get_args()
torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
perm = torch.randperm(len(x))
tr, va = perm[:1200], perm[1200:]
net = DropNet(args.width, args.dropout)
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
for it in range(args.iters):
    net.train()
    b = tr[torch.randint(0, 1200, (64,))]
    loss = nn.functional.cross_entropy(net(x[b]), y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0 or it == args.iters - 1:
        net.eval()
        with torch.no_grad():
            acc = (net(x[va]).argmax(1) == y[va]).float().mean().item()
        print(f"iter {it} loss {loss.item():.4f} val acc {acc:.3f}")
print("val accuracy", acc)
