"""Churn table: one client in twenty-five leaves. Weights per sample, so that both groups count."""
import math
import os

import torch
import torch.nn.functional as F


class Clients:
    def __init__(self, rows, generator):
        self.x = torch.randn(rows, 10, generator=generator)
        self.leaves = torch.rand(rows, generator=generator) < 0.04
        self.x[self.leaves, 2:6] += 0.9

    def batches(self, size):
        for rows in torch.randperm(len(self.x)).split(size):
            yield self.x[rows], self.leaves[rows].float()


class Trainer:
    def __init__(self, data, width=32):
        self.data = data
        self.layers = [torch.nn.Linear(10, width), torch.nn.Linear(width, width), torch.nn.Linear(width, 1)]
        self.optimizer = torch.optim.Adam([p for layer in self.layers for p in layer.parameters()], lr=2e-3)
        share = data.leaves.float().mean().item()
        self.weight_leaves, self.weight_stays = share, 1 - share

    def score(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x).squeeze(1)

    def objective(self, x, y):
        weight = y * self.weight_leaves + (1 - y) * self.weight_stays
        return (weight * F.binary_cross_entropy_with_logits(self.score(x), y, reduction="none")).sum() / weight.sum()

    def epoch(self):
        losses = []
        for x, y in self.data.batches(80):
            loss = self.objective(x, y)
            for layer in self.layers:
                layer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return math.fsum(losses) / len(losses)


def main():
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    generator = torch.Generator().manual_seed(int(os.environ.get("SEED", "0")) + 1)
    trainer, new = Trainer(Clients(4000, generator)), Clients(2000, generator)
    for epoch in range(6):
        print(f"epoch {epoch} loss {trainer.epoch():.4f}")
    with torch.no_grad():
        said = trainer.score(new.x) > 0
    found, kept = said[new.leaves].float().mean().item(), (~said)[~new.leaves].float().mean().item()
    print(f"balanced accuracy {(found + kept) / 2:.3f} recall {found:.3f}")


main()
