import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
settings = torch.rand(1500, 6) * 2 - 1
mix = torch.randn(6, 4)
readings = torch.tanh(settings @ mix)
loader = DataLoader(TensorDataset(settings[:1200], readings[:1200]), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    for xb, yb in loader:
        loss = (model(xb) - yb).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("R2", 1 - ((model(settings[1200:]) - readings[1200:]).pow(2).mean() / readings[1200:].var()).item())
