import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Groups(nn.Module):
    """Normalises groups of channels by hand, and lets the channels of the groups change places."""

    def __init__(self, channels, groups):
        super().__init__()
        self.groups, self.gain = groups, nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        g = x.view(n, self.groups, -1)
        g = (g - g.mean(-1, keepdim=True)) / (g.std(-1, keepdim=True) + 1e-5)
        x = g.view(n, c, h, w) * self.gain
        return x.view(n, self.groups, c // self.groups, h, w).transpose(1, 2).reshape(n, c, h, w)


digits = load_digits()
x = torch.tensor(digits.images).float().unsqueeze(1) / 16
y = torch.tensor(digits.target)
net = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), Groups(32, 8), nn.ReLU(),
    nn.Conv2d(32, 32, 3, padding=1), Groups(32, 8), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for b in torch.randperm(1500).split(50):
        loss = nn.functional.cross_entropy(net(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(x[1500:]).argmax(1) == y[1500:]).float().mean().item())
