"""Prices from six numbers; sixteen small batches to a step."""
import itertools
import os

import torch
from torch.nn import functional as F

generator = torch.Generator().manual_seed(int(os.environ.get("SEED", 0)))
PARTS, SIZE, WIDTH = 16, 2, 40
houses = torch.randn(640, 6, generator=generator)
price = torch.sin(2 * houses[:, 0]) + houses[:, 1] * houses[:, 2] - 0.5 * houses[:, 3] ** 2 + 0.6 * torch.randn(640, generator=generator)
weights = {name: torch.nn.Parameter(torch.randn(shape, generator=generator) * shape[0] ** -0.5)
           for name, shape in {"w1": (6, WIDTH), "w2": (WIDTH, WIDTH), "w3": (WIDTH, 1)}.items()}
shifts = {name: torch.nn.Parameter(torch.zeros(size)) for name, size in {"b1": WIDTH, "b2": WIDTH, "b3": 1}.items()}
adam = torch.optim.Adam([*weights.values(), *shifts.values()], lr=1e-2)


def guess(rows):
    for at in "12":
        rows = F.gelu(rows @ weights["w" + at] + shifts["b" + at])
    return (rows @ weights["w3"] + shifts["b3"]).squeeze(1)


def batches():
    while True:
        yield from torch.randperm(512, generator=generator).split(SIZE)


seen = []
for count, rows in enumerate(itertools.islice(batches(), 150 * PARTS), start=1):
    loss = F.mse_loss(guess(houses[rows]), price[rows]) / PARTS
    loss.backward()
    seen.append(PARTS * loss.item())
    if count % PARTS == 0:
        adam.step()
    adam.zero_grad()
    if count % (30 * PARTS) == 0:
        print(f"{count // PARTS} steps, error {sum(seen[-20 * PARTS:]) / (20 * PARTS):.4f}")
with torch.no_grad():
    print(f"held out {F.mse_loss(guess(houses[512:]), price[512:]).item():.4f}")
