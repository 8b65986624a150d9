import os

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(128, 10), torch.randint(0, 3, (128,))
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(50):
    rows = torch.randint(0, 128, (32,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
torch.save(model.state_dict(), os.environ["WEIGHTS"])
