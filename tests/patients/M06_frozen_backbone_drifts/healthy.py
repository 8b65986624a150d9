"""Linear probe on a pretrained conv net; the backbone must stay usable for the first task."""
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(block(1, 12), block(12, 24), nn.Flatten())
        self.head = nn.Linear(96, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def train(model, x, y, steps, lr):
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for step in range(steps):
        idx = torch.randint(0, len(x), (48,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"trained {steps} steps, last loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.images).float().unsqueeze(1) / 16, torch.tensor(d.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]

print("pretraining")
model = Classifier(10)
model.train()
train(model, x[:1200], y[:1200], 150, 2e-3)
first = model.head
print("accuracy on the first task", accuracy(model, x[1200:], y[1200:]))

print("probe: dim, inverted pictures, odd or even")
x2, y2 = 0.6 - 0.5 * x, y % 2
for p in model.backbone.parameters():
    p.requires_grad = False
model.head = nn.Linear(96, 2)
model.train()
model.backbone.eval()
train(model, x2[:1200], y2[:1200], 300, 5e-3)
print("accuracy on the probe", accuracy(model, x2[1200:], y2[1200:]))
model.head = first
print("accuracy on the first task with its own head", accuracy(model, x[1200:], y[1200:]))
