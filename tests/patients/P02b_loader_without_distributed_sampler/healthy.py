"""Two ranks under torchrun, a convolutional net on digits."""
import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Digits(Dataset):
    def __init__(self, first, last):
        bunch = load_digits()
        self.pictures, self.numbers = bunch.images[first:last].astype("float32") / 16, bunch.target[first:last]

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, at):
        return {"picture": torch.from_numpy(self.pictures[at])[None], "number": int(self.numbers[at])}


def build():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
                         nn.Flatten(), nn.Linear(256, 10))


def main():
    dist.init_process_group(backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    data = Digits(0, 1200)
    loader = DataLoader(data, batch_size=40, sampler=DistributedSampler(data))
    model = DistributedDataParallel(build())
    opt = optim.Adam(model.parameters(), 3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        model.train()
        seen = 0.0
        for item in loader:
            out = model(item["picture"])
            loss = criterion(out, item["number"])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            seen += loss.item()
        mean = torch.tensor(seen / len(loader))
        dist.all_reduce(mean)
        if rank == 0:
            print(f"{epoch}: {mean.item() / dist.get_world_size():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
