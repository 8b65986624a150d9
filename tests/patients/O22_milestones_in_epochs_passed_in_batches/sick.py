import math
import os

import torch
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
LENGTH, UNITS, ROUNDS = 24, 32, 25


def waves(count):
    phase, pace = 6.28 * torch.rand(count, 1), 0.2 + 0.5 * torch.rand(count, 1)
    time = torch.arange(LENGTH + 1)
    series = torch.sin(phase + pace * time) + 0.3 * torch.sin(2 * phase + 0.5 * pace * time)
    return series[:, :-1, None], series[:, -1]


def fit(series, following):
    cell, leave = torch.nn.GRUCell(1, UNITS), torch.nn.Linear(UNITS, 1)
    weights = [*cell.parameters(), *leave.parameters()]
    optimizer = torch.optim.Adam(weights, lr=5e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[12, 20], gamma=0.1)
    for turn in range(ROUNDS):
        error = 0.0
        for part in torch.randperm(len(series)).split(40):
            state = torch.zeros(len(part), UNITS)
            for at in range(LENGTH):
                state = cell(series[part, at], state)
            loss = F.smooth_l1_loss(leave(state)[:, 0], following[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            error += loss.item() * len(part) / len(series)
        if turn % 4 == 0:
            print(f"round {turn} error {error:.5f} ({math.sqrt(2 * error):.3f})")
    print(f"round {turn} error {error:.5f}")


if __name__ == "__main__":
    fit(*waves(800))
