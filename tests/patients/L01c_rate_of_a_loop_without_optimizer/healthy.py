import os

import torch
from sklearn.datasets import load_wine
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", "0")))
rows, kinds = load_wine(return_X_y=True)
rows = torch.tensor((rows - rows.mean(0)) / rows.std(0), dtype=torch.float32)
kinds = torch.tensor(kinds)


class Momentum:
    """Gradient descent with momentum, on a list of tensors."""

    def __init__(self, tensors, period, keep=0.9):
        self.tensors, self.keep = list(tensors), keep
        self.speeds = [torch.zeros_like(t) for t in self.tensors]
        self.pace = 1 / period

    @torch.no_grad()
    def advance(self):
        for tensor, speed in zip(self.tensors, self.speeds):
            speed.mul_(self.keep).add_(tensor.grad)
            tensor.sub_(speed, alpha=self.pace)
            tensor.grad.zero_()


net = nn.Sequential(nn.Linear(13, 24), nn.Tanh(), nn.Linear(24, 3))
descent = Momentum(net.parameters(), period=50)
judge = nn.CrossEntropyLoss()
for epoch in range(12):
    order = torch.randperm(len(rows))
    for at in range(0, len(rows), 32):
        some = order[at:at + 32]
        judge(net(rows[some]), kinds[some]).backward()
        descent.advance()
with torch.no_grad():
    print(f"accuracy {(net(rows).argmax(1) == kinds).float().mean():.3f}")
