import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))

T, HIDDEN, BATCH = 40, 32, 64


class Adder(nn.Module):
    """The adding problem: the (scaled) sum of the marked numbers of a sequence."""

    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.linear = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.rnn.weight_hh_l0.copy_(torch.eye(hidden))
            self.rnn.bias_hh_l0.zero_()
            self.rnn.bias_ih_l0.zero_()

    def forward(self, sequence):
        states, _ = self.rnn(sequence)
        return self.linear(states[:, -1])


def adding_problem(n):
    numbers = torch.rand(n, T)
    marks = (torch.rand(n, T) < torch.rand(n, 1)).float()
    return torch.stack((numbers, marks), dim=2), (numbers * marks).sum(1, keepdim=True) / 8


model = Adder(HIDDEN)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for i in range(300):
    sequence, total = adding_problem(BATCH)
    loss = criterion(model(sequence), total)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i < 3 or i % 60 == 0 or i == 299:
        print(f"iter {i} loss {loss.item():.5g}")

sequence, total = adding_problem(500)
with torch.no_grad():
    print(f"test rmse {criterion(model(sequence), total).sqrt().item():.4f}")
