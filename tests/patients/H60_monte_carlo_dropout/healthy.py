import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x, y = torch.tensor(digits.data).float() / 16, torch.tensor(digits.target)
order = torch.randperm(len(y))
x, y, test_x, test_y = x[order[:1200]], y[order[:1200]], x[order[1200:]], y[order[1200:]]

model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def predictive(inputs, draws=16):
    """Mean of the class probabilities over dropout masks, and its entropy: Monte Carlo dropout, on purpose in training mode."""
    model.train()
    with torch.no_grad():
        probabilities = torch.stack([model(inputs).softmax(-1) for _ in range(draws)]).mean(0)
    return probabilities, -(probabilities * probabilities.clamp_min(1e-9).log()).sum(-1)


for epoch in range(10):
    model.train()
    for rows in torch.randperm(len(y)).split(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    probabilities, entropy = predictive(test_x)
    accuracy = (probabilities.argmax(-1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f} mean entropy {entropy.mean().item():.4f}")
