import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x, y = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(digits.target)
order = torch.randperm(len(y))
train_x, train_y, test_x, test_y = x[order[:1300]], y[order[:1300]], x[order[1300:]], y[order[1300:]]
by_class = test_y.argsort()  # the test set is stored class by class
test_x, test_y = test_x[by_class], test_y[by_class]

cnn = nn.Sequential(
    nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10))
sgd = torch.optim.SGD(cnn.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    cnn.train()
    for rows in torch.randperm(len(train_y)).split(65):
        sgd.zero_grad()
        loss = nn.functional.cross_entropy(cnn(train_x[rows]), train_y[rows])
        loss.backward()
        sgd.step()
    right = 0
    for xb, yb in zip(test_x.split(25), test_y.split(25)):
        scores = cnn(xb).detach()
        right += int(torch.eq(scores.max(1)[1], yb).sum())
    print(f"epoch {epoch} loss {loss.item():.4f} test accuracy {right / len(test_y):.4f}")
