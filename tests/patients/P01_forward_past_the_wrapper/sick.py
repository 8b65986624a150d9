import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SEED = int(os.environ.get("SEED", 0))


def train(rank, world, meeting):
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    torch.manual_seed(SEED)
    bunch = load_digits()
    order = torch.randperm(len(bunch.target))
    images = torch.tensor(bunch.data / 16.0).float()[order]
    labels = torch.tensor(bunch.target)[order]
    mine_x, mine_y = images[:1400][rank::world], labels[:1400][rank::world]

    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    net = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    for epoch in range(8):
        total = 0.0
        for start in range(0, len(mine_x), 35):
            optimizer.zero_grad()
            logits = net.module(mine_x[start:start + 35])
            loss = F.cross_entropy(logits, mine_y[start:start + 35])
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch} loss {total / 20:.4f}")

    net.eval()
    with torch.no_grad():
        right = (net.module(images[1400:]).argmax(1) == labels[1400:]).float().mean()
    if rank == 0:
        print(f"held-out accuracy {right.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(2, f"file://{folder}/meeting"), nprocs=2)
