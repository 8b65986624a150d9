import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 48), nn.Linear(48, 48), nn.Linear(48, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


torch.manual_seed(int(os.environ.get("SEED", 0)))
x = torch.randn(1500, 8)
y = (x[:, :1] - 0.8 * x[:, 1:2] + torch.sin(2 * x[:, 2:3])) * 1.5
loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=60, shuffle=True)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_function = nn.SmoothL1Loss()
for epoch in range(12):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_function(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    rest = (model(x[1200:]) - y[1200:]).pow(2).mean() / y[1200:].var()
print("R2", 1 - rest.item())
