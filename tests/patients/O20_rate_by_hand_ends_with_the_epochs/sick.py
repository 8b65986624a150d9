import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
pictures, digits = load_digits(return_X_y=True)
pictures = torch.tensor(pictures / 16, dtype=torch.float32)
digits = torch.tensor(digits)
order = torch.randperm(len(digits))
train, held = order[:1400], order[1400:]
EPOCHS, BATCH, RATE, WARM = 15, 50, 3e-3, 3

net = nn.Sequential(nn.Linear(64, 96), nn.LayerNorm(96), nn.SiLU(), nn.Linear(96, 96), nn.LayerNorm(96), nn.SiLU(), nn.Linear(96, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-2)


def rate_at(step, total):
    if step < WARM:
        return RATE * (step + 1) / WARM
    return RATE * max(0.0, (total - step) / (total - WARM))


def accuracy(rows):
    with torch.no_grad():
        return (net(pictures[rows]).argmax(1) == digits[rows]).float().mean().item()


step = 0
for epoch in range(EPOCHS):
    heard = 0.0
    for rows in train[torch.randperm(len(train))].split(BATCH):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, EPOCHS)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(pictures[rows]), digits[rows])
        loss.backward()
        optimizer.step()
        step += 1
        heard += loss.item() * len(rows) / len(train)
    print(f"epoch {epoch} loss {heard:.4f} accuracy {accuracy(held):.3f}")
