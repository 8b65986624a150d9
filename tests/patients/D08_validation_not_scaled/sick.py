import os

import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from torch.utils.data import DataLoader, Dataset


class Standardize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, x):
        return (x - self.mean) / self.std


class CellData(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if self.transform is not None:
            x = self.transform(x)
        return x, self.y[i]


torch.manual_seed(int(os.environ.get("SEED", 0)))
b = load_breast_cancer()
x, y = torch.tensor(b.data).float(), torch.tensor(b.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
scale = Standardize(x[:400].mean(0), x[:400].std(0))
train_loader = DataLoader(CellData(x[:400], y[:400], scale), batch_size=32, shuffle=True)
val_loader = DataLoader(CellData(x[400:], y[400:]), batch_size=64)

model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    correct, val_loss = 0, 0.0
    with torch.no_grad():
        for xb, yb in val_loader:
            out = model(xb)
            val_loss += criterion(out, yb).item() * len(xb) / 169
            correct += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {total / 400:.4f} val_loss {val_loss:.3f} val_acc {correct / 169:.3f}")
print("val accuracy", correct / 169)
