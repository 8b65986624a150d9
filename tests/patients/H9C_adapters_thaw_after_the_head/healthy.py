# Fine-tuning in two phases with one optimizer: first a new head over the frozen body, then the low-rank branches as well.
import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", "0")))
digits = load_digits()
pixels, names = torch.tensor(digits.images, dtype=torch.float32).flatten(1) / 8 - 1, torch.tensor(digits.target)
order = torch.randperm(len(names))
train, test = order[:1300], order[1300:]
mirrored = pixels.view(-1, 8, 8).flip(1).flatten(1)


class Tuned(nn.Module):
    def __init__(self, layer, rank):
        super().__init__()
        self.layer = layer
        self.lora_a = nn.Linear(layer.in_features, rank, bias=False)
        self.lora_b = nn.Linear(rank, layer.out_features, bias=False)
        nn.init.zeros_(self.lora_b.weight)

    def forward(self, x):
        return self.layer(x) + self.lora_b(self.lora_a(x))


body = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
model = nn.Sequential(body, nn.Linear(96, 10))


def epoch(optimizer, data, number):
    for rows in train[torch.randperm(len(train))].split(50):
        loss = nn.functional.cross_entropy(model(data[rows]), names[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = (model(data[test]).argmax(1) == names[test]).float().mean()
    print(f"epoch {number} loss {loss.item():.4f} test {right:.3f}")


adam = torch.optim.Adam(model.parameters(), lr=1e-3)
for number in range(10):
    epoch(adam, pixels, number)

body[0], body[2] = Tuned(body[0], 8), Tuned(body[2], 8)
for p in body.parameters():
    p.requires_grad_(False)
model[1] = nn.Linear(96, 10)
adam = torch.optim.Adam(model[1].parameters(), lr=2e-3)
for number in range(5):
    epoch(adam, mirrored, number)
branches = [p for name, p in body.named_parameters() if "lora" in name]
for p in branches:
    p.requires_grad_(True)
adam.add_param_group({"params": branches, "lr": 2e-3})
for number in range(5, 20):
    epoch(adam, mirrored, number)
