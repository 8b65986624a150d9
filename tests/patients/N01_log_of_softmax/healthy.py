import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X = torch.tensor(d.data, dtype=torch.float32)
Y = F.one_hot(torch.tensor(d.target), 10).float()
perm = torch.randperm(len(X))
X, Y = X[perm], Y[perm]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.net(x)


def cross_entropy(logits, onehot):
    logp = torch.log_softmax(logits, dim=1)
    return -(onehot * logp).sum(dim=1).mean()


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(500):
    rows = torch.randint(0, 1200, (64,))
    loss = cross_entropy(model(X[rows]), Y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    print("val accuracy", (model(X[1200:]).argmax(1) == Y[1200:].argmax(1)).float().mean().item())
