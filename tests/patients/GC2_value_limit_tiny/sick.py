import os

import torch
from sklearn.datasets import load_diabetes
from torch import nn


class Trainer:
    def __init__(self, model, lr, clip):
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = ((self.model(x).squeeze(-1) - y) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_value_(self.model.parameters(), self.clip)
        self.optimizer.step()
        return loss.item()


torch.manual_seed(int(os.environ.get("SEED", 0)))
x, y = load_diabetes(return_X_y=True)
x, y = torch.tensor(x).float() * 20, torch.tensor(y).float()
y = (y - y.mean()) / y.std()
trainer = Trainer(nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 1)), lr=0.02, clip=1e-5)
for epoch in range(30):
    losses = [trainer.step(x[rows], y[rows]) for rows in torch.randperm(len(y)).split(34)]
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} mse {sum(losses) / len(losses):.4f}")
