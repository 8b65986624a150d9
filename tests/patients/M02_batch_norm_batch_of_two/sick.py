import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(nn.Linear(n_in, n_out), nn.BatchNorm1d(n_out), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = Block(64, 48)
        self.block2 = Block(48, 48)
        self.block3 = Block(48, 48)
        self.head = nn.Linear(48, 10)

    def forward(self, x):
        return self.head(self.block3(self.block2(self.block1(x))))


BATCH_SIZE = 2

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(x))
loader = DataLoader(TensorDataset(x[p[:1000]], y[p[:1000]]), batch_size=BATCH_SIZE, shuffle=True)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(3):
    net.train()
    recent = []
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        recent.append(loss.item())
        if epoch == 0 and i == 0:
            print(f"start loss {loss.item():.4f}")
    print(f"epoch {epoch} loss {sum(recent) / len(recent):.4f}")
net.eval()
with torch.no_grad():
    acc = (net(x[p[1000:]]).argmax(1) == y[p[1000:]]).float().mean().item()
print("val accuracy", acc)
