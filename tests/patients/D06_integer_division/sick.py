import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def to_tensor(images):
    images = images.astype(np.uint8)
    images = images // 17
    return torch.from_numpy(images).float().unsqueeze(1)


seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
raw = load_digits()
order = np.random.RandomState(seed).permutation(len(raw.images))
x, y = to_tensor(raw.images[order]), torch.from_numpy(raw.target[order])
model = Conv()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    running = 0.0
    for s in range(0, 1200, 40):
        out = model(x[s : s + 40])
        loss = F.cross_entropy(out, y[s : s + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() / 30
    print("epoch %d - loss %.4f" % (epoch, running))
model.eval()
with torch.no_grad():
    print("val accuracy %.4f" % (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item())
