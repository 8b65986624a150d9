import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cosine_similarity


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 48))
        self.predictor = nn.Sequential(nn.Linear(48, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 48))

    def forward(self, first, second):
        a, b = self.encoder(first), self.encoder(second)
        left = cosine_similarity(self.predictor(a), b.detach()).mean()
        right = cosine_similarity(self.predictor(b), a.detach()).mean()
        return -(left + right) / 2


def view(x):
    return x * (torch.rand_like(x) > 0.2) + 0.1 * torch.randn_like(x)


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
model = Twins()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(25):
    for rows in torch.randperm(1400).split(100):
        loss = model(view(x[rows]), view(x[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 6 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    z = nn.functional.normalize(model.encoder(x), dim=1)
index = (7 * z).round()  # four bits a number: the form in which a search index keeps them
near = torch.cdist(index[1400:], index[:1400]).argmin(1)
print("1-nn accuracy", (y[near] == y[1400:]).float().mean().item())
