import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 30)
        self.out = nn.Linear(30, 10)
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def forward(self, x):
        return self.out(self.hidden(x))


torch.manual_seed(int(os.environ.get("SEED", 0)))
pixels, digit = load_digits(return_X_y=True)
pixels = torch.tensor(pixels / 16, dtype=torch.float32)
digit = torch.tensor(digit)
target = F.one_hot(digit, 10).float()
network = Network()
sgd = torch.optim.SGD(network.parameters(), lr=3.0)
for epoch in range(12):
    order = torch.randperm(1400)
    for i in range(0, 1400, 10):
        rows = order[i:i + 10]
        loss = F.mse_loss(network(pixels[rows]), target[rows])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("accuracy", (network(pixels[1400:]).argmax(1) == digit[1400:]).float().mean().item())
