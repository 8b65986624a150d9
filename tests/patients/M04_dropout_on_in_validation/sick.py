import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
images, labels = torch.tensor(digits.data).float() / 16, torch.tensor(digits.target)
order = torch.randperm(len(labels))
images, labels = images[order], labels[order]
train_loader = DataLoader(TensorDataset(images[:1200], labels[:1200]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(images[1200:], labels[1200:]), batch_size=256)

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.6), nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.6), nn.Linear(128, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()


@torch.no_grad()
def validate():
    loss, hits, seen = 0.0, 0, 0
    for x, y in val_loader:
        logits = net(x)
        loss += criterion(logits, y).item() * len(y)
        hits += (logits.argmax(dim=1) == y).sum().item()
        seen += len(y)
    return loss / seen, hits / seen


for epoch in range(12):
    net.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() / len(train_loader)
    val_loss, val_accuracy = validate()
    print(f"epoch {epoch} loss {running:.4f} val loss {val_loss:.4f} val accuracy {val_accuracy:.4f}")
print(f"final val accuracy {val_accuracy:.4f}")
