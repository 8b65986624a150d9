import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_wine
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(13, 32, bias=False)
        self.bn1 = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.bn1(self.fc1(x))))


def worker(rank, meeting, seed):
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    torch.manual_seed(seed)
    x, y = load_wine(return_X_y=True)
    x, y = torch.tensor((x - x.mean(0)) / x.std(0)).float(), torch.tensor(y)
    order = torch.randperm(len(y))
    train, test = order[:140], order[140:]
    share = train[rank * 70:(rank + 1) * 70]

    model = DDP(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    picks = torch.Generator().manual_seed(seed * 2 + rank)
    for step in range(120):
        model.train()
        index = share[torch.randint(0, 70, (8,), generator=picks)]
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 30 == 0:
            print(step, round(loss.item(), 4))
    if rank == 0:
        model.eval()
        with torch.no_grad():
            scores = model.module(x[test])
        print("test loss", round(nn.functional.cross_entropy(scores, y[test]).item(), 3),
              "accuracy", round((scores.argmax(1) == y[test]).float().mean().item(), 3))
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(f"file://{folder}/meeting", int(os.environ.get("SEED", 0))), nprocs=2)
