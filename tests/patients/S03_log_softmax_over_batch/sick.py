import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", "0")))
bunch = load_digits()
features = torch.from_numpy(bunch.data).float() / 16
targets = torch.from_numpy(bunch.target)
perm = torch.randperm(features.size(0))
train_idx, val_idx = perm[:1200], perm[1200:]


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return F.log_softmax(self.layers[-1](x), dim=0)


mlp = MLP([64, 64, 64, 10])
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)
criterion = nn.NLLLoss()
for step in range(400):
    batch = train_idx[torch.randint(1200, (64,))]
    loss = criterion(mlp(features[batch]), targets[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    out = mlp(features[val_idx])
print(f"val nll {criterion(out, targets[val_idx]).item():.4f}")
print("val accuracy", (out.argmax(1) == targets[val_idx]).float().mean().item())
