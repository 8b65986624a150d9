import io
import os

import torch
from sklearn.datasets import load_wine
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
wine = load_wine()
x = torch.tensor((wine.data - wine.data.mean(0)) / wine.data.std(0)).float()
y = torch.tensor(wine.target)
order = torch.randperm(len(y))
x, y = x[order], y[order]


def make(lr):
    model = nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Linear(24, 3))
    return model, torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def train(model, optimizer, steps):
    for step in range(steps):
        rows = torch.randint(0, 130, (32,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    return loss.item()


# the checkpoint of an earlier, very careful run
model, optimizer = make(lr=1e-6)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)

# go on from it, ten thousand times faster
model, optimizer = make(lr=0.05)
saved = torch.load(file)
model.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
for group in optimizer.param_groups:
    group["lr"] = 0.05
last = train(model, optimizer, 300)
with torch.no_grad():
    print(f"final loss {last:.4f} accuracy {(model(x[130:]).argmax(1) == y[130:]).float().mean().item():.4f}")
