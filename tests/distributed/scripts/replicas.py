"""Two processes, started here by fork or by spawn: DistributedDataParallel with accumulation, dropout and clipping. Writes the weights of each."""
import contextlib
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank, folder, fault):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(16, 8)
        if fault == "die" and rank == 1 and step == 25:
            os._exit(3)
        with model.no_sync() if step % 2 == 0 else contextlib.nullcontext():
            net = model.module if fault == "bypass" else model
            nn.functional.cross_entropy(net(x), x[:, :3].argmax(1)).backward()
        if step % 2:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if fault == "die" and rank == 0 and step == 24:
            break
    if os.environ.get("WEIGHTS"):
        torch.save(model.module.state_dict(), f"{os.environ['WEIGHTS']}-{rank}.pt")


if __name__ == "__main__":
    folder, method, fault = sys.argv[1:4]
    started = [mp.get_context(method).Process(target=train, args=(rank, folder, fault)) for rank in (0, 1)]
    for process in started:
        process.start()
    for process in started:
        process.join()
