import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, at):
        x = torch.sin(torch.arange(6.0) * (at + 1))
        return {"x": x, "y": (x.sum() > 0).long()}


def make_step(model, optimizer):
    seen = []

    def step(batch):
        loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
        return seen
    return step


if __name__ == "__main__":
    torch.set_default_device("cpu")
    torch.manual_seed(12)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    step = make_step(model, torch.optim.NAdam(model.parameters(), lr=1e-2))
    loader = DataLoader(Rows(), batch_size=8, num_workers=1, multiprocessing_context="spawn", persistent_workers=True)
    for _ in range(3):
        for batch in loader:
            seen = step(batch)
    print(seen, sys.stdin.read(), sys.argv[1:], __name__, os.path.basename(__file__))
    torch.save(model.state_dict(), os.environ["WEIGHTS"])
