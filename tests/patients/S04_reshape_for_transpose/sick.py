import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class RowReader(nn.Module):
    """Reads an 8x8 image row by row and classifies from the states of all rows."""

    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(8, hidden)
        self.fc = nn.Linear(8 * hidden, 10)

    def forward(self, images):
        batch = images.shape[0]
        rows = images.permute(1, 0, 2)
        states, _ = self.gru(rows)
        return self.fc(states.reshape(batch, -1))


def batches(n, size):
    return torch.randperm(n).split(size)


def main():
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    d = load_digits()
    X, y = torch.tensor(d.images).float() / 16, torch.tensor(d.target)
    p = torch.randperm(len(X))
    X, y = X[p], y[p]
    model = RowReader()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=8, gamma=0.5)
    for epoch in range(12):
        model.train()
        total = 0.0
        for b in batches(1200, 60):
            loss = nn.functional.cross_entropy(model(X[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / 20
        sched.step()
        model.eval()
        with torch.no_grad():
            acc = (model(X[1200:]).argmax(1) == y[1200:]).float().mean().item()
        print(f"epoch {epoch:2d} loss {total:.4f} val {acc:.3f}")
    print("final val accuracy", acc)


if __name__ == "__main__":
    main()
