import os

import torch
from sklearn.datasets import load_digits
from torch import nn


class Net(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.head = nn.Linear(48, n_out)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, params, X, y, steps, lr):
    opt = torch.optim.Adam(params, lr=lr)
    for i in range(steps):
        j = torch.randint(0, len(X), (64,))
        loss = nn.functional.cross_entropy(model(X[j]), y[j])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 50 == 0 or i == steps - 1:
            print(f"  step {i} loss {loss.item():.4f}")


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data / 16).float(), torch.tensor(d.target).long()
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]

print("pretraining on digits 0-6")
m = y[:1200] < 7
net = Net(7)
fit(net, net.parameters(), X[:1200][m], y[:1200][m], 300, 2e-3)

print("transfer to all ten digits")
net.head = nn.Linear(48, 10)
for p in net.backbone.parameters():
    p.requires_grad_(False)
fit(net, [p for p in net.parameters() if p.requires_grad], X[:1200], y[:1200], 500, 5e-3)
net.eval()
with torch.no_grad():
    print("val accuracy", (net(X[1200:]).argmax(1) == y[1200:]).float().mean().item())
