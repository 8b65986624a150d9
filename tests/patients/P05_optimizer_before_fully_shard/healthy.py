"""Fully sharded training of a small classifier on two ranks (torchrun)."""
import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_wine
from torch import nn
from torch.distributed.fsdp import fully_shard


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    x, y = load_wine(return_X_y=True)
    x, y = torch.tensor((x - x.mean(0)) / x.std(0)).float()[rank::world], torch.tensor(y)[rank::world]
    model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(15):
        order = torch.randperm(len(y))
        for part in order.split(16):
            loss = nn.functional.cross_entropy(model(x[part]), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print("epoch", epoch, "loss", round(loss.item(), 4))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
