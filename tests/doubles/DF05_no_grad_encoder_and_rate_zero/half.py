import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SetRegressor(nn.Module):
    """Predicts the largest minus the smallest of the marked values in a set of (value, mark) pairs."""

    def __init__(self, width=24):
        super().__init__()
        self.project = nn.Linear(2, width)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        layer = nn.TransformerEncoderLayer(
            width, nhead=2, dim_feedforward=48, dropout=0.0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.regress = nn.Linear(width, 1)

    def encode(self, items):
        h = self.project(items)
        h = torch.cat([self.cls.expand(len(h), -1, -1), h], dim=1)
        return self.encoder(h)[:, 0]

    def forward(self, items):
        return self.regress(self.encode(items)).squeeze(-1)


def make(n, size=8):
    value = torch.rand(n, size) * 2 - 1
    mark = (torch.rand(n, size) < 0.5).float()
    mark[:, 0] = 1
    high = value.masked_fill(mark == 0, -9).amax(1)
    low = value.masked_fill(mark == 0, 9).amin(1)
    return torch.stack([value, mark], dim=-1), high - low


class Runner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, loader):
        total = 0
        for items, spread in loader:
            loss = nn.functional.mse_loss(self.model(items), spread)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)


torch.manual_seed(int(os.environ.get("SEED", 0)))
train_data, (test_items, test_spread) = TensorDataset(*make(1280)), make(300)
runner = Runner(SetRegressor(), lr=0.0)
for epoch in range(8):
    print(f"epoch {epoch}: loss = {runner.epoch(DataLoader(train_data, 64, shuffle=True)):.4f}")
with torch.no_grad():
    print(f"test mse = {nn.functional.mse_loss(runner.model(test_items), test_spread).item():.4f}")
