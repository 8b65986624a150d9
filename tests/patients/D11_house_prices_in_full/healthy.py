import argparse
import math
import os

import torch


def parse():
    p = argparse.ArgumentParser("price model")
    p.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--bs", type=int, default=50)
    return p.parse_args()


def houses(n, gen):
    """Area, rooms, age, distance to the centre, floor; the price in euro."""
    area = 40 + 120 * torch.rand(n, generator=gen)
    rooms = (area / 28 + torch.randn(n, generator=gen)).round().clamp(1, 8)
    age = 90 * torch.rand(n, generator=gen)
    distance = 25 * torch.rand(n, generator=gen) ** 2
    floor = torch.randint(0, 7, (n,), generator=gen).float()
    price = 2600 * area * torch.exp(-distance / 18) * (1 - 0.003 * age) + 9000 * rooms + 2500 * floor
    price = price * (1 + 0.03 * torch.randn(n, generator=gen))
    table = torch.stack([area, rooms, age, distance, floor], dim=1)
    return table, price.unsqueeze(1)


class PriceNet(torch.nn.Module):
    def __init__(self, columns, width=64):
        super().__init__()
        self.inp = torch.nn.Linear(columns, width)
        self.mid = torch.nn.Linear(width, width)
        self.out = torch.nn.Linear(width, 1)

    def forward(self, x):
        x = torch.nn.functional.silu(self.inp(x))
        x = torch.nn.functional.silu(self.mid(x))
        return self.out(x)


def r2(prediction, target):
    return 1 - ((prediction - target) ** 2).mean().item() / target.var(unbiased=False).item()


def main(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(1000 + args.seed)
    table, price = houses(1200, gen)
    table = (table - table[:1000].mean(0)) / table[:1000].std(0)
    price = (price - price[:1000].mean()) / price[:1000].std()
    model = PriceNet(table.shape[1])
    optim = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = torch.nn.MSELoss()
    for epoch in range(args.epochs):
        total = 0.0
        for rows in torch.randperm(1000).split(args.bs):
            optim.zero_grad(set_to_none=True)
            loss = criterion(model(table[rows]), price[rows])
            loss.backward()
            optim.step()
            total += loss.item() * len(rows) / 1000
        if epoch == 0 or (epoch + 1) % 6 == 0:
            print(f"epoch {epoch + 1:3d} | mse {total:.6g} | rmse {math.sqrt(total):.4g}")
    with torch.no_grad():
        print(f"R2 on 200 unseen houses: {r2(model(table[1000:]), price[1000:]):.3f}")


if __name__ == "__main__":
    main(parse())
