import os

import torch
import torch.nn as nn
from sklearn.datasets import make_circles

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
points, inside = make_circles(1200, noise=0.08, factor=0.5, random_state=seed)
points = torch.tensor(points, dtype=torch.float32)
inside = torch.tensor(inside, dtype=torch.float32)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
bce = nn.BCELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(400):
    pick = torch.randint(0, 1000, (64,))
    p = net(points[pick]).squeeze(1).clamp(0, 1)
    loss = bce(p, inside[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    print("accuracy", ((net(points[1000:]).squeeze(1).sigmoid() > 0.5).float() == inside[1000:]).float().mean().item())
