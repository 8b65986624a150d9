import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


def get_loaders(batch_size):
    data = load_digits()
    inputs = torch.tensor(data.data, dtype=torch.float32) / 16
    targets = torch.tensor(data.target)
    order = torch.randperm(len(inputs))
    train, val = order[:1200], order[1200:]
    return (
        DataLoader(TensorDataset(inputs[train], targets[train]), batch_size, shuffle=True),
        DataLoader(TensorDataset(inputs[val], targets[val]), batch_size),
    )


def train_one_epoch(model, loader, criterion, optimizer, scaler, max_norm):
    model.train()
    meter = []
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        meter.append(loss.item())
    return sum(meter) / len(meter)


def validate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for inputs, targets in loader:
            correct += (model(inputs).argmax(1) == targets).sum().item()
            total += len(targets)
    return correct / total


model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
train_loader, val_loader = get_loaders(64)

for epoch in range(10):
    loss = train_one_epoch(model, train_loader, nn.CrossEntropyLoss(), optimizer, scaler, max_norm=1.0)
    print(f"epoch {epoch} loss {loss:.4f} val accuracy {validate(model, val_loader):.3f}")
