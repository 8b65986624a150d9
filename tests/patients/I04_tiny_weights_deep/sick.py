import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler


class Deep(nn.Module):
    def __init__(self, n_in, width, depth, std):
        super().__init__()
        sizes = [n_in] + [width] * (depth - 1) + [2]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        for layer in self.layers:
            nn.init.normal_(layer.weight, mean=0.0, std=std)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", default=int(os.environ.get("SEED", 0)), type=int)
    p.add_argument("--depth", default=7, type=int)
    p.add_argument("--std", default=1e-3, type=float)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    x, y = load_breast_cancer(return_X_y=True)
    x = torch.tensor(StandardScaler().fit_transform(x), dtype=torch.float32)
    y = torch.tensor(y)
    order = torch.randperm(len(x))
    train, test = order[:450], order[450:]

    model = Deep(30, 40, args.depth, args.std)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(15):
        total = 0.0
        for rows in train[torch.randperm(450)].split(30):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / 15
        if epoch % 2 == 0:
            print(f"{epoch}\ttrain_loss={total:.4f}")
    accuracy = (model(x[test]).argmax(1) == y[test]).float().mean().item()
    print(f"test_accuracy={accuracy:.3f}")


if __name__ == "__main__":
    main()
