import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


def set_seed():
    torch.manual_seed(int(os.environ.get("SEED", 0)))


def loaders(batch_size=64):
    d = load_digits()
    x = torch.tensor(d.images[:, None] / 8 - 1).float()
    y = torch.tensor(d.target).long()
    order = torch.randperm(len(y))
    make = lambda rows, shuffle: DataLoader(TensorDataset(x[rows], y[rows]), batch_size, shuffle=shuffle)
    return make(order[:1200], True), make(order[1200:], False)


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        pairs = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(pairs).mean().item()


set_seed()
train_loader, val_loader = loaders()
model = nn.Sequential(
    nn.Conv2d(1, 12, 3), nn.BatchNorm2d(12), nn.ReLU(),
    nn.Conv2d(12, 24, 3, stride=2), nn.BatchNorm2d(24), nn.ReLU(),
    nn.Flatten(), nn.Linear(24 * 4, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
scheduler = lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.1)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        if i % 6 == 0:
            print(f"{epoch}/{i:02d} loss {loss.item():.4f}")
    scheduler.step()
    print(f"--- epoch {epoch} val acc {accuracy(model, val_loader):.3f}")
print(f"final val acc {accuracy(model, val_loader):.3f}")
