import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

SEED = int(os.environ.get("SEED", 0))
rng = np.random.RandomState(SEED)
torch.manual_seed(SEED)

backbone = nn.Sequential(
    nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(12, 12, 2), nn.ReLU(),
    nn.Flatten(),
)
head = nn.Linear(12, 10)
parameters = [*backbone.parameters(), *head.parameters()]


def forward(images):
    with torch.no_grad():
        features = backbone(images)
    return head(features)


digits = load_digits()
images = (digits.images[:, None] / 16 - 0.3).astype("float32")
labels = digits.target.astype("int64")
order = rng.permutation(len(labels))
train, val = order[:1200], order[1200:]

optimizer = torch.optim.RMSprop(parameters, lr=2e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.02)

for step in range(1, 401):
    pick = rng.choice(train, size=64, replace=False)
    inputs, targets = torch.from_numpy(images[pick]), torch.from_numpy(labels[pick])

    optimizer.zero_grad()
    loss = criterion(forward(inputs), targets)
    loss.backward()
    optimizer.step()

    if step == 1 or step % 100 == 0:
        with torch.no_grad():
            guess = forward(torch.from_numpy(images[val])).argmax(1).numpy()
        print(f"step {step} loss {loss.item():.3f} validation accuracy {(guess == labels[val]).mean():.3f}")
