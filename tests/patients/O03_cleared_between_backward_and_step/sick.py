import argparse
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler


def get_data(seed):
    features, cultivar = load_wine(return_X_y=True)
    x = torch.from_numpy(StandardScaler().fit_transform(features)).float()
    y = torch.from_numpy(cultivar)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    return x[order[:130]], y[order[:130]], x[order[130:]], y[order[130:]]


def train_epoch(model, optimizer, x, y, batch_size):
    total = 0.0
    for start in range(0, len(x), batch_size):
        xb, yb = x[start:start + batch_size], y[start:start + batch_size]
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        total += loss.item() * len(xb)
    return total / len(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    x_train, y_train, x_test, y_test = get_data(args.seed)
    model = torch.nn.Sequential(torch.nn.Linear(13, 24), torch.nn.Tanh(), torch.nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        loss = train_epoch(model, optimizer, x_train, y_train, args.batch_size)
        if epoch % 10 == 0 or epoch == args.epochs - 1:
            print(f"[{epoch:3d}] loss {loss:.4f}")
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"test accuracy: {accuracy:.3f}")


if __name__ == "__main__":
    main()
