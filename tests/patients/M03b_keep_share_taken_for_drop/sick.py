"""GRU over rows of digits with functional dropout."""
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

KEEP = 0.9


class RowReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 48, batch_first=True)
        self.hidden = nn.Linear(48, 48)
        self.out = nn.Linear(48, 10)

    def forward(self, rows):
        _, h = self.gru(rows)
        h = F.dropout(h[-1], KEEP, self.training)
        h = F.dropout(torch.relu(self.hidden(h)), KEEP, self.training)
        return self.out(h)


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x, y = torch.tensor(d.images).float() / 16, torch.tensor(d.target)
p = torch.randperm(len(x))
x, y = x[p], y[p]
m = RowReader()
opt = torch.optim.RMSprop(m.parameters(), lr=1e-3)
for it in range(300):
    i = torch.randint(0, 1300, (64,))
    loss = F.cross_entropy(m(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0 or it == 299:
        print(f"{it} loss {loss.item():.4f}")
m.eval()
with torch.no_grad():
    print("val accuracy", (m(x[1300:]).argmax(1) == y[1300:]).float().mean().item())
