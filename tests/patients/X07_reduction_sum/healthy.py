import os
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn


@dataclass
class HParams:
    lr: float = 0.1
    momentum: float = 0.5
    batch_size: int = 64
    epochs: int = 15


class Trainer:
    def __init__(self, hp, model, x, y):
        self.hp, self.model, self.x, self.y = hp, model, x, y
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=hp.lr, momentum=hp.momentum)

    def step(self, idx):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(self.x[idx]), self.y[idx])
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self):
        for epoch in range(self.hp.epochs):
            for k, idx in enumerate(torch.randperm(len(self.x)).split(self.hp.batch_size)):
                loss = self.step(idx)
                if epoch == 0 and k == 0:
                    print(f"initial loss={loss:.4f}")
            print(f"epoch={epoch} loss={loss:.4f}")


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(X))
X, y = X[p], y[p]
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
Trainer(HParams(), net, X[:1216], y[:1216]).fit()
with torch.no_grad():
    print("val accuracy", (net(X[1216:]).argmax(1) == y[1216:]).float().mean().item())
