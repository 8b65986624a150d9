import os

import torch
import torch.nn as nn
from sklearn.datasets import load_iris

torch.manual_seed(int(os.environ.get("SEED", 0)))
iris = load_iris()
x = torch.tensor(iris.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
species = torch.tensor(iris.target)
mix = torch.randperm(150)
x, species = x[mix], species[mix]


class Iris(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.hidden = nn.Linear(4, 32)
        self.head = nn.Linear(32, outputs)

    def forward(self, x):
        return self.head(torch.relu(self.hidden(x)))


model = Iris(1)
criterion = lambda scores, labels: nn.functional.binary_cross_entropy_with_logits(scores[:, 0], labels.float())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(60):
    for i in range(0, 120, 20):
        loss = criterion(model(x[i:i + 20]), species[i:i + 20])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0 or epoch == 59:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    scores = model(x[120:])
guess = scores.argmax(1) if scores.shape[1] > 1 else torch.sigmoid(scores[:, 0]).round().long()
print("accuracy", (guess == species[120:]).float().mean().item())
