import os

import torch
from torch import nn

torch.manual_seed(6)
x = torch.linspace(-2, 2, 40)[:, None]
y = torch.sin(2 * x)
model = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(10):
    print(optimizer.step(closure).item())
torch.save(model.state_dict(), os.environ["WEIGHTS"])
