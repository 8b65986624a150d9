import os

import torch
from sklearn.datasets import load_digits
from torch import nn

SEED = int(os.environ.get("SEED", 0))
LEARNING_RATE = 1e-7
BATCH_SIZE = 64
STEPS = 400


def prepare():
    data = load_digits()
    x = torch.tensor(data.data.astype(int) // 17, dtype=torch.float32)
    y = torch.tensor(data.target)
    idx = torch.randperm(len(x))
    return (x[idx[:1200]], y[idx[:1200]]), (x[idx[1200:]], y[idx[1200:]])


def make_step(model, criterion, optimizer):
    def step(x, y):
        model.train()
        output = model(x)
        loss = criterion(output, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step


torch.manual_seed(SEED)
(x_train, y_train), (x_test, y_test) = prepare()
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
train_step = make_step(model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=LEARNING_RATE))

losses = []
for i in range(STEPS):
    rows = torch.randint(0, len(x_train), (BATCH_SIZE,))
    losses.append(train_step(x_train[rows], y_train[rows]))
    if (i + 1) % 80 == 0 or i == 0:
        print(f"[{i + 1}/{STEPS}] loss: {sum(losses[-20:]) / len(losses[-20:]):.4f}")

model.eval()
with torch.no_grad():
    print(f"test acc: {(model(x_test).argmax(-1) == y_test).float().mean():.3f}")
