import os

import numpy as np
import torch
from torch import nn


def blobs(n, rng):
    """16x16 pictures of one bright shape: bar, cross, ring or corner."""
    kinds = rng.integers(0, 4, n)
    img = rng.normal(0, 0.25, (n, 1, 16, 16)).astype(np.float32)
    for i, k in enumerate(kinds):
        r, c = rng.integers(2, 8, 2)
        if k == 0:
            img[i, 0, r, c:c + 6] += 1.5
        elif k == 1:
            img[i, 0, r + 2, c:c + 5] += 1.5
            img[i, 0, r:r + 5, c + 2] += 1.5
        elif k == 2:
            img[i, 0, r:r + 5, [c, c + 4]] += 1.5
            img[i, 0, [r, r + 4], c:c + 5] += 1.5
        else:
            img[i, 0, r:r + 6, c] += 1.5
            img[i, 0, r, c:c + 6] += 1.5
    return torch.from_numpy(img), torch.from_numpy(kinds)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveMaxPool2d(1))
        self.head = nn.Linear(24, 4)

    def forward(self, images):
        return self.head(self.body(images).flatten(1))


class Trainer:
    def __init__(self, net, seed):
        self.net, self.rng = net, np.random.default_rng(seed)
        self.criterion = nn.CrossEntropyLoss()
        self.opt = torch.optim.AdamW(net.parameters(), lr=2e-3)

    def epoch(self, images, tags):
        self.net.train()
        for idx in np.array_split(self.rng.permutation(len(images)), len(images) // 40):
            self.opt.zero_grad(set_to_none=True)
            loss = self.criterion(self.net(images[idx]), tags[idx])
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.inference_mode()
    def score(self, images, tags):
        self.net.eval()
        hits = 0
        for part in range(0, len(images), 100):
            hits += (self.net(images[part:part + 100]).argmax(-1) == tags[part:part + 100]).sum().item()
        return hits / len(images)


seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
images, kinds = blobs(1600, rng)
SLIPS = 0.0
swap = torch.from_numpy(rng.random(1600) < SLIPS)
tags = torch.where(swap, (kinds + torch.from_numpy(rng.integers(1, 4, 1600))) % 4, kinds)
new_images, new_kinds = blobs(400, rng)
trainer = Trainer(Net(), seed)
for e in range(8):
    last = trainer.epoch(images, tags)
    print(f"[{e}] loss {last:.3f} accuracy on new pictures {trainer.score(new_images, new_kinds):.3f}")
