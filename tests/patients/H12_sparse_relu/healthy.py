import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class SparseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        h1 = torch.relu(self.fc1(x))
        h2 = torch.relu(self.fc2(h1))
        return self.out(h2), (h1, h2)


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32).div(16).sub(0.3).div(0.37)
y = torch.tensor(digits.target)
order = torch.randperm(len(X))
train, val = order[:1200], order[1200:]
net = SparseNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(20):
    for b in train[torch.randperm(1200)].split(64):
        logits, hidden = net(X[b])
        loss = ce(logits, y[b]) + 2e-2 * sum(h.mean() for h in hidden)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 0 or epoch == 19:
        active = [(h > 0).float().mean().item() for h in hidden]
        print("epoch", epoch, "loss", f"{loss.item():.4f}", "active", active)
with torch.no_grad():
    print("val accuracy", (net(X[val])[0].argmax(1) == y[val]).float().mean().item())
