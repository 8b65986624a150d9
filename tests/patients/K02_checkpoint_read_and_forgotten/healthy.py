import os
import tempfile

import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer


def build():
    return nn.Sequential(nn.Linear(30, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))


def pretrained(path):
    net = build()
    weights = torch.load(path)["model"]
    net.load_state_dict(weights)
    return net


torch.manual_seed(int(os.environ.get("SEED", 0)))
cancer = load_breast_cancer()
x = torch.tensor(cancer.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
y = torch.tensor(cancer.target, dtype=torch.float32).unsqueeze(1)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    torch.save({"model": build().state_dict(), "epoch": 12}, path)
    net = pretrained(path)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(15):
    for i in range(0, 450, 30):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[i:i + 30]), y[i:i + 30])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("accuracy", ((net(x[450:]) > 0).float() == y[450:]).float().mean().item())
