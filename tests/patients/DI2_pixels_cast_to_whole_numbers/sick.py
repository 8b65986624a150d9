import os

import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 17.0
labels = torch.tensor(digits.target)


class Shades(nn.Module):
    """Looks each pixel's shade up in a table, then reads the picture."""

    def __init__(self, shades=17, width=4):
        super().__init__()
        self.table = nn.Embedding(shades, width)
        self.net = nn.Sequential(nn.Linear(64 * width, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        shade = x.long().clamp(0, 16)
        return self.net(self.table(shade).flatten(1))


def train(model, epochs=10):
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        running = 0.0
        for index in torch.randperm(1500).split(100):
            logits = model(images[index])
            loss = nn.functional.cross_entropy(logits, labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"{epoch}: {running / 15:.4f}")
    with torch.no_grad():
        return (model(images[1500:]).argmax(1) == labels[1500:]).float().mean().item()


print("held-out accuracy", train(Shades()))
