import os

import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))

digits = load_digits()
x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = torch.tensor(digits.target)
perm = torch.randperm(len(x))
train, val = perm[:1200], perm[1200:]

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(300):
    batch = train[torch.randint(len(train), (64,))]
    optimizer.zero_grad()
    loss = criterion(model(x[batch]), y[batch])
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 299:
        print(f"step {step} loss {loss.item():.4f}")

with torch.no_grad():
    accuracy = (model(x[val]).argmax(1) == y[val]).float().mean()
print(f"validation accuracy {accuracy:.3f}")
