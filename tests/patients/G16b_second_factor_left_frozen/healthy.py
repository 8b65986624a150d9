# Low-rank tuning of a fixed network, functions only: y = W x + B (A x), with the pretrained W kept as it is.
import os

import torch
from sklearn.datasets import make_friedman1

seed = int(os.environ.get("SEED", "0"))
torch.manual_seed(seed)
x, y = make_friedman1(1400, noise=0.3, random_state=seed)
x, y = torch.tensor(x, dtype=torch.float32) * 2 - 1, torch.tensor(y, dtype=torch.float32)
y = (y - y.mean()) / y.std()
moved = y * x[:, 5] + 0.5 * x[:, 6]
moved = (moved - moved.mean()) / moved.std()
WIDTHS = [10, 64, 64, 1]


def initial(tables):
    for at, (inside, outside) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        tables[f"W{at}"] = torch.randn(outside, inside) * (2 / inside) ** 0.5
        tables[f"c{at}"] = torch.zeros(outside)
    return tables


def low_rank(tables, rank=6):
    for at, (inside, outside) in enumerate(zip(WIDTHS[:-1], WIDTHS[1:-1])):
        tables[f"A{at}"] = torch.randn(rank, inside) / inside ** 0.5
        tables[f"B{at}"] = torch.zeros(outside, rank)
    return tables


def predict(tables, rows):
    for at in range(3):
        out = rows @ tables[f"W{at}"].t() + tables[f"c{at}"]
        if f"A{at}" in tables:
            out = out + torch.einsum("or,nr->no", tables[f"B{at}"], rows @ tables[f"A{at}"].t())
        rows = torch.nn.functional.gelu(out) if at < 2 else out
    return rows.squeeze(1)


def tune(tables, goal, epochs, rate, label):
    optimizer = torch.optim.Adam([t for t in tables.values() if t.requires_grad], lr=rate)
    for epoch in range(epochs):
        for rows in torch.randperm(1100).split(50):
            error = torch.nn.functional.mse_loss(predict(tables, x[rows]), goal[rows])
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
        if epoch % 10 == 9:
            with torch.no_grad():
                left = torch.nn.functional.mse_loss(predict(tables, x[1100:]), goal[1100:]) / goal[1100:].var()
            print(f"{label} {epoch + 1}: error {error.item():.4f}, unexplained on test {left.item():.3f}")


tables = {name: t.requires_grad_() for name, t in initial({}).items()}
tune(tables, y, 20, 3e-3, "before")
for name, table in low_rank(tables).items():
    table.requires_grad_(name[0] in "ABc" or name == "W2")
tune(tables, moved, 40, 5e-3, "after")
