import os

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


class Counter(TorchFunctionMode):
    calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Counter.calls += 1
        return func(*args, **(kwargs or {}))


torch.manual_seed(8)
with torch.device("cpu"):
    model = nn.Bilinear(3, 4, 2)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
a, b, y = torch.randn(20, 3), torch.randn(20, 4), torch.randint(0, 2, (20,))
for _ in range(20):
    with Counter():
        out = model(a, b)
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), Counter.calls)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
