import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
x = torch.randn(2000, 10)
taste = x[:, 0] + 0.7 * x[:, 1] * x[:, 2] + 0.5 * torch.randn(2000)
cuts = taste.quantile(torch.tensor([0.2, 0.4, 0.6, 0.8]))
stars = torch.bucketize(taste, cuts).float()

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(600):
    rows = torch.randint(0, 1600, (64,))
    loss = nn.functional.mse_loss(model(x[rows]).squeeze(1), stars[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0 or step == 599:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    left = (model(x[1600:]).squeeze(1) - stars[1600:]).pow(2).mean() / stars[1600:].var()
print("unexplained variance", left.item())
