import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
bunch = load_digits()
X = torch.tensor(bunch.data, dtype=torch.float32) / 16
Y = torch.tensor(bunch.target)
mix = torch.randperm(len(X))
X, Y = X[mix], Y[mix]


class Classify(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return F.softmax(self.fc(self.body(x)), dim=1)


classify = Classify()
optimizer = torch.optim.SGD(classify.parameters(), lr=0.1, momentum=0.9)
for step in range(400):
    pick = torch.randint(0, 1200, (64,))
    output = classify(X[pick])
    loss = F.nll_loss(output, Y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 399:
        print(f"step {step} loss {loss.item():.4f}")
print("accuracy", (classify(X[1200:]).argmax(1) == Y[1200:]).float().mean().item())
