import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
FAMILY = torch.tensor([0, 1, 2, 2, 1, 0, 0, 1, 2, 0])  # a coarse class for each digit


class TwoLevels(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.coarse = nn.Linear(48, 3)
        self.fine = nn.Linear(48, 10)

    def forward(self, x):
        h = self.trunk(x)
        return self.coarse(h), self.fine(h)


def disagreement(coarse_logits, fine_logits):
    """How much of the fine prediction lies outside of the predicted coarse class."""
    coarse = F.softmax(coarse_logits, 1)
    fine = F.softmax(fine_logits, 1)
    member = F.one_hot(FAMILY, 3).float()
    return (1 - ((fine @ member) * coarse).sum(1)).mean()


pixels, digit = load_digits(return_X_y=True)
pixels = torch.tensor(pixels / 16, dtype=torch.float32)
digit = torch.tensor(digit)
noisy = torch.where(torch.rand(len(digit)) < 0.3, torch.randint(0, 3, (len(digit),)), FAMILY[digit])

model = TwoLevels()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
beta = 2.0
for epoch in range(12):
    for rows in torch.randperm(1200).split(100):
        coarse_logits, fine_logits = model(pixels[rows])
        dependency = disagreement(coarse_logits, fine_logits)
        loss = F.cross_entropy(coarse_logits, noisy[rows]) + F.cross_entropy(fine_logits, digit[rows]) + beta * dependency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} dependency {dependency.item():.4f}")

with torch.no_grad():
    coarse_logits, fine_logits = model(pixels[1200:])
    agree = (FAMILY[fine_logits.argmax(1)] == coarse_logits.argmax(1)).float().mean().item()
print(f"share of consistent predictions {agree:.3f}")
