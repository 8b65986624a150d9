import os

import torch
from sklearn.datasets import load_digits


class Embedder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(64, 80)
        self.b = torch.nn.Linear(80, 12)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def contrast(u, v, margin=4.0):
    near = (u - v).pow(2).sum(1)
    far = torch.cdist(u, v.roll(1, 0)).diagonal()
    return near.mean() + (margin - far).clamp_min(0).pow(2).mean()


def noisy(x):
    return x + 0.15 * torch.randn_like(x)


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
net = Embedder()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(500):
    rows = torch.randint(0, 1400, (80,))
    loss = contrast(net(noisy(x[rows])), net(noisy(x[rows])))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.5f}")
with torch.no_grad():
    z = net(x)
print("spread over size", (z.std(0).mean() / z.pow(2).mean().sqrt()).item())
