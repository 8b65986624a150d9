"""Under torchrun: small trainings, one after another in the same processes, each with a Monitor and a folder of its own.

monitored.py FOLDER NAME...: the ledgers go to FOLDER/NAME; for the sharded ones rank 0 also writes the exact global norms.
"""
import contextlib
import gc
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import whyloss

STEPS = 24


def net(norm=False):
    torch.manual_seed(1)
    layers = [nn.Linear(12, 33), *([nn.BatchNorm1d(33)] if norm else []), nn.ReLU(), nn.Linear(33, 5)]
    return nn.Sequential(*layers)


def wrapped(model, name):
    if not name.startswith("sharded"):
        return DistributedDataParallel(model)
    for part in model:
        if isinstance(part, nn.Linear):
            fully_shard(part)
    return fully_shard(model)


def batch(name, step, rank):
    alike = "same-data" in name
    chosen = torch.Generator().manual_seed(1000 * step + (0 if alike else rank))
    x = torch.randn(16, 12, generator=chosen)
    if "split" in name:
        x = x + (2.0 if rank else -2.0)
    return x, x[:, :5].argmax(1)


def loss_of(model, name, x, y, step):
    call = model.module if "bypass" in name or "by-hand" in name else model
    quiet = "local-sgd" in name or "accumulation" in name and step % 2 == 0
    with model.no_sync() if quiet else contextlib.nullcontext():
        loss = nn.functional.cross_entropy(call(x), y)
        loss.backward()
    return loss


def between(model, optimizer, name, step, rank, world):
    """What the loop does between backward and step."""
    if "by-hand" in name:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
    if "clip" in name and rank == 1:
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    if "rate" in name and rank == 0 and step == 6:
        optimizer.param_groups[0]["lr"] *= 0.1


def averaged(model, world):
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p)
            p /= world


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def train(folder, name):
    rank, world = dist.get_rank(), dist.get_world_size()
    model = wrapped(net(norm="split" in name), name)
    if "own-start" in name:
        with torch.no_grad():
            model.module[0].weight.add_(0.1 * rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    exact = []
    (folder / name).mkdir(exist_ok=True)
    with contextlib.nullcontext() if "bare" in name else whyloss.Monitor(model, optimizer, every=1, run=folder / name) as monitor:
        for step in range(STEPS):
            loss = loss_of(model, name, *batch(name, step, rank), step)
            if "accumulation" in name and step % 2 == 0:
                continue
            between(model, optimizer, name, step, rank, world)
            before = {n: whole(p.detach()).clone() for n, p in model.named_parameters()} if "exact" in name else {}
            grads = {n: float(whole(p.grad).norm()) for n, p in model.named_parameters()} if before else {}
            optimizer.step()
            if before:
                exact.append({n: [grads[n], float(before[n].norm()), float((whole(p.detach()) - before[n]).norm() / before[n].norm())]
                              for n, p in model.named_parameters()})
            optimizer.zero_grad()
            if "local-sgd" in name and step % 8 == 7:
                averaged(model, world)
    torch.save({n: getattr(t, "_local_tensor", t) for n, t in model.state_dict().items()}, folder / name / f"weights-{rank}.pt")
    if monitor is None:
        return
    assert monitor.problem is None and (monitor.sampled == STEPS or "accumulation" in name), (monitor.problem, monitor.sampled)
    assert not monitor.alerts, monitor.alerts
    losses = [None] * world
    dist.all_gather_object(losses, loss.item())
    if rank == 0:
        (folder / name / "exact.json").write_text(json.dumps({"norms": exact, "last_loss": sum(losses) / world}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for chosen in sys.argv[2:]:
        train(Path(sys.argv[1]), chosen)
        dist.barrier()
    gc.collect()  # the wrappers hold the group in cycles: with them gone its threads are joined here, and not while Python ends
    dist.destroy_process_group()
