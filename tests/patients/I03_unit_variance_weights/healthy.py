import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 64)
        self.fc4 = nn.Linear(64, 10)
        for fc in (self.fc1, self.fc2, self.fc3, self.fc4):
            nn.init.kaiming_normal_(fc.weight)
            nn.init.zeros_(fc.bias)

    def forward(self, x):
        x = self.fc1(x).relu()
        x = self.fc2(x).relu()
        x = self.fc3(x).relu()
        return self.fc4(x)


digits = load_digits()
x = torch.tensor(digits.data).float() / 16
y = torch.tensor(digits.target)
train_part = torch.randperm(len(x)) < 1200
train_dl = DataLoader(TensorDataset(x[train_part], y[train_part]), batch_size=64, shuffle=True, drop_last=True)
val_dl = DataLoader(TensorDataset(x[~train_part], y[~train_part]), batch_size=300)

classifier = Classifier()
adam = torch.optim.Adam(classifier.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(12):
    classifier.train()
    for i, (xb, yb) in enumerate(train_dl):
        adam.zero_grad()
        loss = ce(classifier(xb), yb)
        loss.backward()
        adam.step()
        if i % 9 == 0:
            print(f"epoch {epoch} iter {i} loss {loss.item():.3f}")
    classifier.eval()
    with torch.no_grad():
        right = sum((classifier(xb).argmax(1) == yb).sum().item() for xb, yb in val_dl)
    print(f"epoch {epoch} validation accuracy {right / (~train_part).sum().item():.3f}")
