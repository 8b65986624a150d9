import os

import torch
from torch import nn

torch.manual_seed(7)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
fast = torch.compile(model, backend="eager")


@torch.compile(backend="aot_eager")
def objective(out, y):
    return nn.functional.cross_entropy(out, y) + 1e-3 * out.square().mean()


optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
for _ in range(30):
    loss = objective(fast(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
torch.save(model.state_dict(), os.environ["WEIGHTS"])
