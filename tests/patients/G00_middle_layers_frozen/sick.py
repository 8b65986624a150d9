import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Narrow(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(64, 10)
        self.mid1 = nn.Linear(10, 10)
        self.mid2 = nn.Linear(10, 10)
        self.mid3 = nn.Linear(10, 10)
        self.head = nn.Linear(10, 10)

    def forward(self, x):
        x = F.leaky_relu(self.stem(x), 0.1)
        x = F.leaky_relu(self.mid1(x), 0.1)
        x = F.leaky_relu(self.mid2(x), 0.1)
        x = F.leaky_relu(self.mid3(x), 0.1)
        return self.head(x)


def prepare(*layers):
    for layer in layers:
        for p in layer.parameters():
            p.requires_grad = False


pixels, labels = load_digits(return_X_y=True)
pixels, labels = torch.tensor(pixels).float() / 16, torch.tensor(labels)
order = torch.randperm(1797)
train, test = order[:1200], order[1200:]

net = Narrow()
prepare(net.mid1, net.mid2, net.mid3)
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=3e-3)

for epoch in range(20):
    for rows in train[torch.randperm(1200)].split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(pixels[rows]), labels[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        train_loss = F.cross_entropy(net(pixels[train]), labels[train])
    print(f"epoch {epoch:2d} loss {train_loss:.4f}")

with torch.no_grad():
    print(f"test accuracy {(net(pixels[test]).argmax(1) == labels[test]).float().mean():.3f}")
