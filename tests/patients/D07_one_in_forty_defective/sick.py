import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))
N = 6000
sensors = torch.randn(N, 12)
defective = torch.rand(N) < 0.03
sensors[defective, :4] += 1.1
y = defective.float().unsqueeze(1)

train = TensorDataset(sensors[:5000], y[:5000])
loader = DataLoader(train, batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))
bce = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(6):
    running = 0.0
    for x, t in loader:
        optimizer.zero_grad()
        loss = bce(net(x), t)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(loader):.4f}")
with torch.no_grad():
    guess = net(sensors[5000:]) > 0
truth = y[5000:] > 0.5
print("accuracy", (guess == truth).float().mean().item(), "recall", guess[truth].float().mean().item())
