"""Regression on two ranks (torchrun); the learning rate is lowered on the way."""
import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_diabetes
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def data():
    x, y = load_diabetes(return_X_y=True)
    x, y = torch.tensor(x / x.std(0)).float(), torch.tensor((y - y.mean()) / y.std()).float()
    return TensorDataset(x, y[:, None])


def run():
    dist.init_process_group("gloo")
    is_main = dist.get_rank() == 0
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    samples = data()
    sampler = DistributedSampler(samples, shuffle=True, drop_last=True)
    feed = DataLoader(samples, batch_size=17, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    for epoch in range(12):
        sampler.set_epoch(epoch)
        total, count = 0.0, 0
        for x, y in feed:
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item(), count + 1
        schedule.step()
        if is_main:
            print("epoch", epoch, "mse", round(total / count, 4), "lr", schedule.get_last_lr()[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    run()
