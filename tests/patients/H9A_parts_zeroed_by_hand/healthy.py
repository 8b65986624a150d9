import os

import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1

seed = int(os.environ.get("SEED", "0"))
torch.manual_seed(seed)
inputs, goals = make_friedman1(n_samples=1500, noise=0.5, random_state=seed)
inputs = torch.tensor(inputs, dtype=torch.float32) * 2 - 1
goals = torch.tensor((goals - goals.mean()) / goals.std(), dtype=torch.float32)[:, None]
split = 1200


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 48)
        self.deeper = nn.Linear(48, 48)
        self.last = nn.Linear(48, 1)

    def forward(self, x):
        return self.last(nn.functional.silu(self.deeper(nn.functional.silu(self.hidden(x)))))


model = Regressor()
sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
PARTS = 4
count = 0
for epoch in range(20):
    for chosen in torch.randperm(split).split(16):
        error = (model(inputs[chosen]) - goals[chosen]).square().mean()
        (error / PARTS).backward()
        count += 1
        if count % PARTS == 0:
            sgd.step()
            with torch.no_grad():
                for p in model.parameters():
                    p.grad.zero_()
    if epoch % 5 == 4:
        with torch.no_grad():
            left = (model(inputs[split:]) - goals[split:]).square().mean() / goals[split:].var()
        print(f"epoch {epoch + 1}: train {error.item():.4f}, unexplained on test {left.item():.4f}")
