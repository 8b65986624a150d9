import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class RatingModel(nn.Module):
    def __init__(self, n_in=6, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.score = nn.Linear(width, 1)

    def forward(self, x):
        return torch.sigmoid(self.score(self.body(x)))


def make_ratings(n):
    x = torch.randn(n, 6)
    raw = 1.3 * x[:, 0] - x[:, 1] + 0.7 * x[:, 2] * x[:, 3]
    return x, (5 + 2.2 * raw + 0.2 * torch.randn(n)).clamp(0, 10).unsqueeze(1)


def main():
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    x, y = make_ratings(2000)
    xv, yv = make_ratings(500)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = RatingModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_fn = nn.MSELoss()
    for epoch in range(15):
        losses = []
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if epoch == 0:
            print(f"first batch loss {losses[0]:.3f}")
        print(f"epoch {epoch:2d} mean loss {sum(losses) / len(losses):.3f}")
    model.eval()
    with torch.no_grad():
        r2 = 1 - loss_fn(model(xv), yv) / yv.var()
    print("val R2", r2.item())


main()
