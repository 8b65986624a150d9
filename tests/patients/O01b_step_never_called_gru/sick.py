import math
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Forecaster(nn.Module):
    """Reads 24 values of a wave and predicts the next one."""

    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, series):
        states, _ = self.gru(series)
        return self.readout(states[:, -1]).squeeze(-1)


class Trainer:
    def __init__(self, model, loader, epochs):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        self.loss_fn = nn.MSELoss()

    def fit(self):
        for epoch in range(self.epochs):
            losses = [self.train_batch(*batch) for batch in self.loader]
            print(f"epoch {epoch}: loss={sum(losses) / len(losses):.5f}")

    def train_batch(self, series, target):
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.model(series), target)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        return loss.item()


def make_waves(count=768, length=24):
    phase = torch.rand(count, 1) * 2 * math.pi
    speed = 0.2 + 0.4 * torch.rand(count, 1)
    wave = torch.sin(phase + speed * torch.arange(length + 1))
    return wave[:, :-1].unsqueeze(-1), wave[:, -1]


if __name__ == "__main__":
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    data = TensorDataset(*make_waves())
    trainer = Trainer(Forecaster(), DataLoader(data, batch_size=64, shuffle=True), epochs=6)
    trainer.fit()
    held_out, answer = make_waves(256)
    with torch.no_grad():
        error = (trainer.model(held_out) - answer).abs().mean()
    print(f"mean absolute error {error:.4f}")
