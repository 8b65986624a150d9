import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from torch.optim.lr_scheduler import CosineAnnealingLR


def read_table(seed):
    wine = load_wine()
    table = wine.data.copy()
    rng = np.random.default_rng(seed)
    table[rng.integers(len(table)), 4] = np.nan
    order = rng.permutation(len(table))
    table, label = table[order], wine.target[rng.permutation(len(table))]
    return table, label


def standardise(table):
    return (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    table, label = read_table(seed)
    x = standardise(table)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(label)
    model = nn.Sequential(nn.Linear(13, 20), nn.Tanh(), nn.Linear(20, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sched = CosineAnnealingLR(opt, T_max=25)
    for epoch in range(25):
        for step, rows in enumerate(torch.randperm(len(x)).split(20)):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if epoch == 0 or step == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        sched.step()
    with torch.no_grad():
        print("train accuracy", (model(x).argmax(1) == y).float().mean().item())


main()
