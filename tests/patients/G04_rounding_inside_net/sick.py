import os

import torch
from sklearn.datasets import load_wine
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class CodeNet(nn.Module):
    def __init__(self, bits=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(13, 16), nn.Tanh(), nn.Linear(16, bits), nn.Sigmoid())
        self.decoder = nn.Linear(bits, 3)

    def forward(self, x):
        code = self.encoder(x)
        code = torch.round(code)
        return self.decoder(code)


wine = load_wine()
x = torch.tensor(wine.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
y = torch.tensor(wine.target)
order = torch.randperm(len(x))
train, test = order[:130], order[130:]

model = CodeNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, history_size=5)


def closure():
    optimizer.zero_grad()
    loss = criterion(model(x[train]), y[train])
    loss.backward()
    return loss


for round_number in range(40):
    loss = optimizer.step(closure)
    if round_number % 8 == 0 or round_number == 39:
        print(f"round {round_number:2d} loss {loss.item():.4f}")

with torch.no_grad():
    accuracy = (model(x[test]).argmax(1) == y[test]).float().mean().item()
print(f"accuracy {accuracy:.3f}")
