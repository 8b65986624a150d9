import os

import torch

torch.manual_seed(int(os.environ.get("SEED", 0)))

features = torch.randn(200, 3)
truth = features @ torch.tensor([[1.5], [-2.0], [0.5]]) + 0.7 + 0.1 * torch.randn(200, 1)
weight = torch.zeros(3, 1, requires_grad=True)
offset = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([weight, offset], lr=0.02)

prediction = features @ weight + offset
for epoch in range(400):
    loss = torch.mean((prediction - truth) ** 2)
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    if epoch % 100 == 0 or epoch == 399:
        print(epoch, f"{loss.item():.5f}")
