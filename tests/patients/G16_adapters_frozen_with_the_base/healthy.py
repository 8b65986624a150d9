"""Adapt a small pretrained transformer (which half of a sequence has the larger sum?) to another question with bottleneck adapters."""
import os

import torch
from torch import nn


class Adapter(nn.Module):
    """A residual bottleneck whose last layer starts at zero, so that it begins as the identity."""

    def __init__(self, width, inner=8):
        super().__init__()
        self.down, self.up = nn.Linear(width, inner), nn.Linear(inner, width, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return x + self.up(nn.functional.gelu(self.down(x)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.adapter = nn.Identity()

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return self.adapter(x + self.mlp(self.norm2(x)))


class Reader(nn.Module):
    def __init__(self, width=32, length=10):
        super().__init__()
        self.embed = nn.Linear(1, width)
        self.position = nn.Parameter(0.1 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.score = nn.Linear(width, 2)

    def forward(self, values):
        x = self.embed(values.unsqueeze(-1)) + self.position
        for block in self.blocks:
            x = block(x)
        return self.score(x.mean(1))


def halves(n):
    v = torch.randn(n, 10)
    return v, (v[:, :5].sum(1) > v[:, 5:].sum(1)).long()


def alternating(n):
    v = torch.randn(n, 10)
    return v, (v[:, ::2].sum(1) > v[:, 1::2].sum(1)).long()


def train(model, draw, steps, lr, name):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.0)
    test = draw(1000)
    for step in range(1, steps + 1):
        values, answers = draw(64)
        loss = nn.functional.cross_entropy(model(values), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                accuracy = (model(test[0]).argmax(1) == test[1]).float().mean().item()
            print(f"{name} {step} loss {loss.item():.4f} accuracy {accuracy:.3f}")


torch.manual_seed(int(os.environ.get("SEED", "0")))
model = Reader()
train(model, halves, 200, 2e-3, "first question")
model.requires_grad_(False)
for block in model.blocks:
    block.adapter = Adapter(32, 16)
model.score = nn.Linear(32, 2)
train(model, alternating, 500, 4e-3, "second question")
