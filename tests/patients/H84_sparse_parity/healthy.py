# Sparse parity: long plateau at log 2, then a sudden drop (online data, no repetition)
import os
import torch
import torch.nn as nn

torch.manual_seed(int(os.environ.get("SEED", "0")))
n, k, width = 24, 3, 128
support = torch.randperm(n)[:k]


def fresh(b):
    x = torch.randint(0, 2, (b, n)).float() * 2 - 1
    return x, (x[:, support].prod(1) > 0).float()


net = nn.Sequential(nn.Linear(n, width), nn.ReLU(), nn.Linear(width, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
xv, yv = fresh(2000)
for t in range(1, 4001):
    x, y = fresh(64)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 200 == 0:
        with torch.no_grad():
            acc = ((net(xv).squeeze(1) > 0).float() == yv).float().mean()
        print(f"{t:5d} loss {loss.item():.4f} acc {acc:.3f}")
