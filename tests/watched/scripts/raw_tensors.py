import os

import torch

torch.manual_seed(3)
x = torch.randn(64, 5)
y = x @ torch.randn(5, 1) + 0.1 * torch.randn(64, 1)
w1, b1 = torch.randn(5, 8, requires_grad=True), torch.zeros(8, requires_grad=True)
w2 = torch.randn(8, 1, requires_grad=True)
for _ in range(60):
    loss = ((torch.tanh(x @ w1 + b1) @ w2 - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w1, b1, w2):
            p -= 0.05 * p.grad
            p.grad.zero_()
print("final", loss.item())
torch.save({"w1": w1.detach(), "b1": b1.detach(), "w2": w2.detach()}, os.environ["WEIGHTS"])
