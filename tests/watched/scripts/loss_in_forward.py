import os
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Output:
    loss: torch.Tensor
    logits: torch.Tensor


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.rnn = nn.GRU(8, 12, batch_first=True)
        self.head = nn.Linear(12, 20)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens[:, :-1]))
        logits = self.head(hidden)
        return Output(nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()), logits)


def train(model, steps=30, every=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        tokens = (torch.arange(9)[None] + torch.randint(0, 20, (16, 1))) % 20
        (model(tokens).loss / every).backward()
        if step % every == every - 1:
            optimizer.step()
            optimizer.zero_grad()


torch.manual_seed(4)
model = Model()
train(model)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
raise ValueError("the user's own error")
