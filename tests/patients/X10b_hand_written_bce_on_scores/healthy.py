import os

import torch
from sklearn.datasets import load_breast_cancer


class Score(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = torch.nn.Linear(width, 16)
        self.fc2 = torch.nn.Linear(16, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc2(torch.relu(self.fc1(x))))


def bce(p, t, eps=1e-7):
    return -(t * (p + eps).log() + (1 - t) * (1 - p + eps).log()).mean()


torch.manual_seed(int(os.environ.get("SEED", 0)))
cancer = load_breast_cancer()
x = torch.tensor(cancer.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
t = torch.tensor(cancer.target, dtype=torch.float32)[:, None]
score = Score(30)
optimizer = torch.optim.Adam(score.parameters(), lr=1e-3)
for epoch in range(20):
    for i in range(0, 450, 30):
        loss = bce(score(x[i:i + 30]), t[i:i + 30])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
with torch.no_grad():
    print("accuracy", ((score(x[450:]) > 0.5).float() == t[450:]).float().mean().item())
