import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.bn1 = nn.Linear(64, 128), nn.BatchNorm1d(128)
        self.fc2, self.bn2 = nn.Linear(128, 128), nn.BatchNorm1d(128)
        self.dropout = nn.Dropout(0.4)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        x = self.dropout(torch.relu(self.bn1(self.fc1(x))))
        x = self.dropout(torch.relu(self.bn2(self.fc2(x))))
        return self.out(x)


def validate(model, loader):
    model.eval()
    hits = []
    with torch.no_grad():
        for x, y in loader:
            hits.append(model(x).argmax(1) == y)
    return torch.cat(hits).float().mean().item()


data = load_digits()
x, y = torch.tensor(data.data).float() / 16, torch.tensor(data.target)
rows = torch.randperm(len(y))
train_loader = DataLoader(TensorDataset(x[rows[:1200]], y[rows[:1200]]), 48, shuffle=True)
val_loader = DataLoader(TensorDataset(x[rows[1200:]], y[rows[1200:]]), 200)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
print(f"untrained accuracy {validate(model, val_loader):.3f}")
for epoch in range(8):
    total = 0.0
    for xb, yb in train_loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        optimizer.step()
        total += loss.item() / len(train_loader)
    print(f"epoch {epoch} loss {total:.4f} val accuracy {validate(model, val_loader):.3f}")
