"""Accumulation over four micro-batches with no_sync, clipping, dropout of each rank's own and validation on the first rank only."""
import contextlib
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return right


def worker(rank, world, meeting):
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed + rank)  # the wrapper sends the first rank's weights to all
    bunch = load_digits()
    x, y = torch.tensor(bunch.data / 16).float(), torch.tensor(bunch.target)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    mine, held_out = order[:1440][rank::world], order[1440:]
    model = DDP(nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 10)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    micro = 4
    for epoch in range(6):
        mine = mine[torch.randperm(len(mine))]
        for at, part in enumerate(mine.split(15)):
            last = at % micro == micro - 1
            with contextlib.nullcontext() if last else model.no_sync():
                loss = nn.functional.cross_entropy(model(x[part]), y[part]) / micro
                loss.backward()
            if last:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        if rank == 0:
            print("epoch", epoch, "loss", round(loss.item() * micro, 4), "held-out accuracy", round(validate(model.module, x[held_out], y[held_out]), 3))
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, f"file://{folder}/meeting"), nprocs=2)
