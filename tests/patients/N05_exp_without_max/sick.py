import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LogSumExpLoss(nn.Module):
    def forward(self, scores, target):
        norm = torch.log(torch.exp(scores).sum(dim=1))
        return (norm - scores.gather(1, target[:, None]).squeeze(1)).mean()


class Scorer(nn.Module):
    def __init__(self, temperature=0.05):
        super().__init__()
        self.hidden = nn.Linear(64, 64)
        self.score = nn.Linear(64, 10)
        self.temperature = temperature

    def forward(self, x):
        return self.score(torch.relu(self.hidden(x))) / self.temperature


torch.manual_seed(int(os.environ.get("SEED", 0)))
raw, label = load_digits(return_X_y=True)
raw = torch.tensor(raw, dtype=torch.float32)
order = torch.randperm(len(raw))
ds = TensorDataset(raw[order], torch.tensor(label)[order])
train = torch.utils.data.Subset(ds, range(1200))
val = torch.utils.data.Subset(ds, range(1200, len(ds)))
loader = DataLoader(train, batch_size=32, shuffle=True)

net, criterion = Scorer(), LogSumExpLoss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    total = 0.0
    for xb, yb in loader:
        loss = criterion(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} train loss {total / len(loader):.4f}")

net.eval()
correct = 0
with torch.no_grad():
    for xb, yb in DataLoader(val, batch_size=300):
        correct += (net(xb).argmax(1) == yb).sum().item()
print("val accuracy", correct / len(val))
