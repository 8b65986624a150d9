import os

import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer

torch.manual_seed(int(os.environ.get("SEED", 0)))
raw = load_breast_cancer()
features = torch.tensor(raw.data[:, :22], dtype=torch.float32)
features = (features - features.mean(0)) / features.std(0)
labels = torch.tensor(raw.target, dtype=torch.float32).unsqueeze(1)
order = torch.randperm(len(features))
train, test = order[:400], order[400:]

net = nn.Sequential(
    nn.Linear(22, 10),
    nn.ReLU(),
    nn.Linear(10, 1),
    nn.Sigmoid(),
)
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
for epoch in range(400):
    optimizer.zero_grad()
    loss = criterion(net(features[train]), labels[train])
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0 or epoch == 399:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    right = ((net(features[test]) > 0.5).float() == labels[test]).float().mean()
print("test accuracy", right.item())
