import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_net():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def run(model, loader, lr, epochs, name):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total, count = 0.0, 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
            count += len(x)
        if epoch % 5 == 0 or epoch == epochs - 1:
            print(f"{name} epoch {epoch} loss {total / count:.4f}")


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
X, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(X))
X, y = X[p], y[p]

base = make_net()
run(base, DataLoader(TensorDataset(X[:1200], y[:1200]), 32, shuffle=True), 2e-3, 12, "pretrain")
torch.save(base.state_dict(), f"/tmp/digits_base_{os.getpid()}.pt")

model = make_net()
model.load_state_dict(torch.load(f"/tmp/digits_base_{os.getpid()}.pt"))
os.remove(f"/tmp/digits_base_{os.getpid()}.pt")
run(model, DataLoader(TensorDataset(X[1200:1500], y[1200:1500]), 32, shuffle=True), 1e-5, 21, "finetune")
model.eval()
with torch.no_grad():
    print("test accuracy", (model(X[1500:]).argmax(1) == y[1500:]).float().mean().item())
