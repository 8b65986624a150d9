import argparse
import os

import torch
from torch import nn


def get_data(n, noise):
    x = torch.randn(n, 8)
    w = torch.tensor([5.0, -4.0, 3.0, 8.0, 0.0, -12.0, 6.0, 2.0])
    clean = x @ w + 6 * torch.relu(x[:, 0] * x[:, 1])
    return x, (clean + noise * torch.randn(n)).unsqueeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=800)
    ap.add_argument("--noise", type=float, default=5.0)
    ap.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x, y = get_data(6000, args.noise)
    xv, yv = get_data(1000, args.noise)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        i = torch.randint(0, len(x), (64,))
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.2f}")
    with torch.no_grad():
        mse = nn.functional.mse_loss(model(xv), yv)
    print("val R2", (1 - mse / yv.var()).item())


if __name__ == "__main__":
    main()
