import argparse
import os

import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(options):
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    return model, optimizer


def train(model, optimizer, loader, epochs):
    for epoch in range(epochs):
        total = 0.0
        for features, target in loader:
            loss = nn.functional.mse_loss(model(features), target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        print(f"epoch {epoch:2d} mse {total:.4f}")
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="disease progression from ten measurements")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=26)
    options = parser.parse_args()
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    x, y = load_diabetes(return_X_y=True, scaled=False)
    x, y = torch.tensor(x).float(), torch.tensor(y).float()
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    loader = DataLoader(TensorDataset(x, y[:, None]), options.batch_size, shuffle=True)
    print(f"training with lr={options.lr}")
    model, optimizer = build(options)
    final = train(model, optimizer, loader, options.epochs)
    print(f"final mse {final:.4f}")
