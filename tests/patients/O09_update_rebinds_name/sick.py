import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, pixels):
        return self.fc2(torch.relu(self.fc1(pixels)))


pixels, digit = load_digits(return_X_y=True)
pixels = torch.tensor(pixels, dtype=torch.float32) / 16
digit = torch.tensor(digit)
rows = torch.randperm(len(digit))
train_rows, test_rows = rows[:1200], rows[1200:]

model = MLP()
lr = 0.5
for it in range(400):
    rows = train_rows[torch.randperm(1200)[:64]]
    loss = F.nll_loss(F.log_softmax(model(pixels[rows]), dim=1), digit[rows])
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for w in model.parameters():
            w = w - lr * w.grad
    if it % 100 == 0 or it == 399:
        print("iteration", it, "loss", f"{loss.item():.4f}")

with torch.no_grad():
    hit_rate = (model(pixels[test_rows]).argmax(1) == digit[test_rows]).float().mean().item()
print("hit rate", f"{hit_rate:.3f}")
