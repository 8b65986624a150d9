import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        return grad


def run():
    torch.manual_seed(9)
    body, head = nn.Sequential(nn.Linear(5, 10), nn.Tanh()), nn.Linear(10, 1)
    optimizer = torch.optim.SGD([{"params": body.parameters()}, {"params": head.parameters(), "lr": 0.2}], lr=0.1)
    x = torch.randn(32, 5)
    for _ in range(25):
        hidden = checkpoint(body, x, use_reentrant=False)
        out = Clamp.apply(head(hidden))
        loss = (out[:, 0] - x[:, 0]).pow(2).mean()
        body.zero_grad()
        head.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
    torch.save({**body.state_dict(), **{f"head.{k}": v for k, v in head.state_dict().items()}}, os.environ["WEIGHTS"])


run()
