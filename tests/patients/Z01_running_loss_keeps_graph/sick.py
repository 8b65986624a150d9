import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class Trainer:
    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.running_loss = 0.0
        self.n_batches = 0

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.running_loss += loss
        self.n_batches += 1

    @property
    def average(self):
        return self.running_loss / self.n_batches


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x, y = torch.tensor(digits.data).float() / 16, torch.tensor(digits.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=1e-3), nn.CrossEntropyLoss())
for step in range(600):
    idx = torch.randint(0, 1200, (64,))
    trainer.train_step(x[idx], y[idx])
    if step % 100 == 0 or step == 599:
        print(f"step {step} average loss {trainer.average:.4f}")
model.eval()
with torch.no_grad():
    print("val accuracy", (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item())
