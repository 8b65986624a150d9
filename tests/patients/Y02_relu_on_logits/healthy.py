import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
data, target = load_digits(return_X_y=True)
data = torch.tensor(data / 16, dtype=torch.float32)
target = torch.tensor(target)
perm = torch.randperm(len(data))
train, val = perm[:1200], perm[1200:]

net = nn.Sequential(
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
    nn.Identity(),
)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(400):
    batch = train[torch.randint(0, len(train), (64,))]
    loss = loss_fn(net(data[batch]), target[batch])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    print("val accuracy", (net(data[val]).argmax(1) == target[val]).float().mean().item())
