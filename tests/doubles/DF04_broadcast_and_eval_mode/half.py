import os
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Trainer:
    model: nn.Module
    lr: float = 2e-3
    history: list = field(default_factory=list)

    def __post_init__(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.lr)
        self.loss_fn = nn.L1Loss()

    def fit(self, train, valid, epochs):
        self.model.train()
        for epoch in range(epochs):
            signal, rate = train
            for rows in torch.randperm(len(signal)).split(32):
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.model(signal[rows]), rate[rows])
                loss.backward()
                self.optimizer.step()
                self.history.append(loss.item())
            recent = self.history[-len(signal) // 32:]
            print(f"epoch {epoch} loss {sum(recent) / len(recent):.4f} val_loss {self.evaluate(*valid):.4f}")

    @torch.no_grad()
    def evaluate(self, signal, rate):
        self.model.eval()
        return self.loss_fn(self.model(signal), rate).item()


def pulse_trains(n, length=64):
    """Noisy pulse trains on a drifting, strongly scaled base line; predict the pulse rate."""
    rate = 0.05 + 0.3 * torch.rand(n, 1)
    pulses = (torch.rand(n, length) < rate).float()
    drift = torch.linspace(0, 1, length) * torch.randn(n, 1)
    return (20 * (pulses + 0.2 * drift) + 5 * torch.randn(n, length)).unsqueeze(1), 10 * pulses.mean(1)


torch.manual_seed(int(os.environ.get("SEED", 0)))
net = nn.Sequential(
    nn.Conv1d(1, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(),
    nn.Conv1d(16, 16, 5, stride=2, padding=2), nn.BatchNorm1d(16), nn.ReLU(),
    nn.AdaptiveAvgPool1d(4), nn.Dropout(0.1), nn.Flatten(),
    nn.Linear(64, 1), nn.Flatten(0),
)
trainer = Trainer(net)
trainer.fit(pulse_trains(800), pulse_trains(200), epochs=10)
print(f"test mean absolute error {trainer.evaluate(*pulse_trains(300)):.4f}")
