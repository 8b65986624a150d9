import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer


def load(seed):
    rng = np.random.default_rng(seed)
    X, y = load_breast_cancer(return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    mu, sd = X[:400].mean(0), X[:400].std(0)
    X = torch.from_numpy(((X - mu) / sd).astype("float32"))
    y = torch.from_numpy(y.astype("float32")).unsqueeze(1)
    return (X[:400], y[:400]), (X[400:], y[400:])


def build_model(n_features, hidden):
    return nn.Sequential(
        nn.Linear(n_features, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 1),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    (X, y), (Xv, yv) = load(args.seed)
    model = build_model(X.shape[1], args.hidden)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        for idx in torch.randperm(len(X)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(X[idx]), y[idx])
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0 or epoch == args.epochs - 1:
            with torch.no_grad():
                full = criterion(model(X), y)
            print(f"epoch {epoch}: loss {full.item():.4f}")
    model.eval()
    with torch.no_grad():
        print("val cross-entropy", criterion(model(Xv), yv).item())


if __name__ == "__main__":
    main()
