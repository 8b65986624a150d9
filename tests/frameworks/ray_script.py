"""Ray Train through its torch backend: two workers on CPU.

WATCH: a folder for the ledgers of a Monitor in each worker. FAULT=bypass skips the wrapper.
"""

import contextlib
import os

import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn


def worker(config):
    torch.manual_seed(0)
    model = prepare_model(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    rank = ray.train.get_context().get_world_rank()
    generator = torch.Generator().manual_seed(rank)
    with watching(model, optimizer, config["watch"]):
        for _ in range(150):
            x = torch.randn(32, 8, generator=generator)
            optimizer.zero_grad()
            net = model.module if config["fault"] == "bypass" else model
            loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
            loss.backward()
            optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), config["weights"])


def watching(model, optimizer, folder):
    if not folder:
        return contextlib.nullcontext()
    import whyloss
    return whyloss.Monitor(model, optimizer, every=1, run=folder)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    config = {"watch": os.environ.get("WATCH"), "fault": os.environ.get("FAULT"), "weights": os.environ["WEIGHTS"]}
    TorchTrainer(worker, train_loop_config=config, scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
                 torch_config=TorchConfig(backend="gloo"), run_config=RunConfig(storage_path=os.environ["OUT"])).fit()
    ray.shutdown()
