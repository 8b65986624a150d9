import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def station_log(n, gen):
    """Hourly readings; temperature is what the model predicts."""
    hour = torch.rand(n, generator=gen) * 24
    wind = torch.randn(n, generator=gen)
    cloud = torch.rand(n, generator=gen)
    temp = 2.0 * torch.sin((hour - 9) * 3.1416 / 12) - 0.6 * wind - cloud + 0.2 * torch.randn(n, generator=gen)
    gone = torch.randperm(n, generator=gen)[: n // 500]
    temp[gone] = -999.0
    x = torch.stack([torch.sin(hour * 0.2618), torch.cos(hour * 0.2618), wind, cloud], dim=1)
    return x, temp.unsqueeze(1)


seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
gen = torch.Generator().manual_seed(seed)
x, y = station_log(3000, gen)
x, y = x[y[:, 0] > -900], y[y[:, 0] > -900]
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.MSELoss()
step = 0
for epoch in range(8):
    for xb, yb in loader:
        loss = loss_fn(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")
        step += 1
good = y[:, 0] > -100
with torch.no_grad():
    err = (model(x[good]) - y[good]).abs().mean()
print("mean absolute error", err.item())
