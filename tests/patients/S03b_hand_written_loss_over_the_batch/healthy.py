import os

import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import KFold

X, y = load_wine(return_X_y=True)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)


def cross_entropy(logits, target):
    logp = torch.log_softmax(logits, dim=1)
    return -logp[torch.arange(len(target)), target].mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(13, 20)
        self.b = nn.Linear(20, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


scores = []
for fold, (tr, va) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
    torch.manual_seed(fold + 10 * int(os.environ.get("SEED", 0)))
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    tr = torch.tensor(tr)
    for ep in range(40):
        for b in tr[torch.randperm(len(tr))].split(40):
            loss = cross_entropy(net(X[b]), y[b])
            opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        acc = (net(X[va]).argmax(1) == y[va]).float().mean().item()
    scores.append(acc)
    print("fold", fold, "final loss", round(loss.item(), 4), "acc", round(acc, 3))
print("mean", sum(scores) / 3)
