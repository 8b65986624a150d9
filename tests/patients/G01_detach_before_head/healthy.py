import os

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


class TwoStage(nn.Module):
    def __init__(self, neck=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
            nn.Linear(32, 16), nn.ReLU(),
            nn.Linear(16, neck), nn.ReLU(),
        )
        self.head = nn.Linear(neck, 10)

    def forward(self, x):
        features = self.encoder(x)
        return self.head(features)


digits = load_digits()
x, y = torch.tensor(digits.data / 16.0).float(), torch.tensor(digits.target)
perm = torch.randperm(len(x))
train_ds = TensorDataset(x[perm[:1200]], y[perm[:1200]])
test_x, test_y = x[perm[1200:]], y[perm[1200:]]

model = TwoStage()
loss_fn = nn.CrossEntropyLoss(reduction="mean")
optimizer = optim.NAdam(model.parameters(), lr=2e-3)

for epoch in range(18):
    seen, total = 0, 0.0
    for xb, yb in DataLoader(train_ds, batch_size=50, shuffle=True):
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
        seen += len(xb)
    with torch.no_grad():
        test_accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch + 1:02d} loss {total / seen:.4f} test_accuracy {test_accuracy:.3f}")
