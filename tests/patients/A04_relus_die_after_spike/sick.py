import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))

data = load_digits()
x = torch.tensor(data.data / 16.0).float()
y = torch.tensor(data.target).long()
order = torch.randperm(len(x))
x_train, y_train = x[order[:1200]], y[order[:1200]]
x_val, y_val = x[order[1200:]], y[order[1200:]]

model = nn.Sequential(
    nn.Linear(64, 24), nn.ReLU(),
    nn.Linear(24, 24), nn.ReLU(),
    nn.Linear(24, 24), nn.ReLU(),
    nn.Linear(24, 10),
)
schedule = {0: 0.2, 60: 400.0, 61: 0.2}
optimizer = torch.optim.SGD(model.parameters(), lr=schedule[0])
criterion = nn.CrossEntropyLoss()


def accuracy():
    with torch.no_grad():
        return (model(x_val).argmax(1) == y_val).float().mean().item()


for step in range(500):
    if step in schedule:
        for group in optimizer.param_groups:
            group["lr"] = schedule[step]
    rows = torch.randint(0, 1200, (64,))
    loss = criterion(model(x_train[rows]), y_train[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.4g} accuracy {accuracy():.3f}")
