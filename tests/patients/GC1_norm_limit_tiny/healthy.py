import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.images).float() / 16, torch.tensor(d.target)
order = torch.randperm(len(y))
loader = DataLoader(TensorDataset(x[order[:1200]], y[order[:1200]]), batch_size=48, shuffle=True)
test_x, test_y = x[order[1200:]], y[order[1200:]]


class RowReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 48, batch_first=True)
        self.out = nn.Linear(48, 10)

    def forward(self, rows):
        states, _ = self.lstm(rows)
        return self.out(states[:, -1])


reader = RowReader()
optimizer = torch.optim.SGD(reader.parameters(), lr=0.3, momentum=0.9)
MAX_NORM = 1.0
for epoch in range(12):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(reader(xb), yb)
        loss.backward()
        clip_grad_norm_(reader.parameters(), MAX_NORM)
        optimizer.step()
    with torch.no_grad():
        accuracy = (reader(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} test accuracy {accuracy:.4f}")
