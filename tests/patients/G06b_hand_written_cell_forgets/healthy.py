import os

import torch
import torch.nn.functional as F
from torch import nn

SEED = int(os.environ.get("SEED", 0))


class Cell(nn.Module):
    """h' = tanh(U x + W h + b)"""

    def __init__(self, n_in, n_state, gain):
        super().__init__()
        self.U = nn.Parameter(0.3 * torch.randn(n_state, n_in))
        self.W = nn.Parameter(gain * torch.linalg.qr(torch.randn(n_state, n_state))[0])
        self.b = nn.Parameter(torch.zeros(n_state))

    def forward(self, x, h):
        return torch.tanh(x @ self.U.T + h @ self.W.T + self.b)


class Reader(nn.Module):
    def __init__(self, symbols, n_state, classes, gain):
        super().__init__()
        self.symbols = symbols
        self.cell = Cell(symbols, n_state, gain)
        self.out = nn.Linear(n_state, classes)

    def forward(self, text):
        h = torch.zeros(text.shape[0], self.cell.b.shape[0])
        for t in range(text.shape[1]):
            h = self.cell(F.one_hot(text[:, t], self.symbols).float(), h)
        return self.out(h)


def recall_task(n, length=30):
    """The first of 30 symbols (0 to 3) is to be remembered; the others are blanks (4), now and then a dot (5)."""
    text = 4 + (torch.rand(n, length) < 0.1).long()
    text[:, 0] = torch.randint(0, 4, (n,))
    return text, text[:, 0]


def train(gain, steps=240):
    torch.manual_seed(SEED)
    reader = Reader(6, 32, 4, gain)
    optimiser = torch.optim.Adam(reader.parameters(), lr=3e-3)
    for step in range(steps):
        text, first = recall_task(48)
        loss = F.cross_entropy(reader(text), first)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimiser.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"{step:4d}  {loss.item():.4f}")
    text, first = recall_task(400)
    with torch.no_grad():
        print(f"recalled {(reader(text).argmax(-1) == first).float().mean():.3f}")


train(gain=1.0)
