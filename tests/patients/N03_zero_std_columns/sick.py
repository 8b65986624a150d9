import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits


def prepare(seed, n_train=1200):
    rng = np.random.default_rng(seed)
    data, target = load_digits(return_X_y=True)
    order = rng.permutation(len(data))
    data = torch.tensor(data[order], dtype=torch.float32)
    target = torch.tensor(target[order])
    mean = data[:n_train].mean(dim=0)
    std = data[:n_train].std(dim=0)
    data = (data - mean) / std
    return data[:n_train], target[:n_train], data[n_train:], target[n_train:]


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    x, y, xv, yv = prepare(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(10):
        for i, idx in enumerate(torch.randperm(len(x)).split(64)):
            loss = criterion(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i == 0:
                print(f"epoch {epoch} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print("val accuracy", (model(xv).argmax(1) == yv).float().mean().item())


if __name__ == "__main__":
    main()
