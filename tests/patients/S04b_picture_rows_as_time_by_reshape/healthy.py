import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
images = load_digits().images.astype(np.float32) / 8 - 1
labels = torch.from_numpy(load_digits().target)
images = torch.from_numpy(images)

order = torch.randperm(len(images))
train_idx, test_idx = order[:1400], order[1400:]

forward_lstm = nn.LSTM(input_size=8, hidden_size=40)
readout = nn.Sequential(nn.LayerNorm(40), nn.Linear(40, 10))
params = [*forward_lstm.parameters(), *readout.parameters()]
adam = torch.optim.Adam(params, lr=4e-3, betas=(0.9, 0.98))


def scan(pictures):
    """A picture is read from top to bottom, one row of pixels a time step: (time, batch, pixels)."""
    steps = pictures.transpose(0, 1)
    states, _ = forward_lstm(steps)
    return readout(states.mean(0))


def run_epoch():
    running = 0.0
    for count, chunk in enumerate(torch.randperm(1400).split(50), 1):
        rows = train_idx[chunk]
        adam.zero_grad()
        loss = nn.functional.cross_entropy(scan(images[rows]), labels[rows])
        loss.backward()
        adam.step()
        running += (loss.item() - running) / count
        if count == 1:
            first = loss.item()
    return first, running


for epoch in range(9):
    first, mean = run_epoch()
    if epoch % 2 == 0:
        print(f"epoch {epoch} first {first:.4f} mean {mean:.4f}")
hits = 0
with torch.no_grad():
    for rows in test_idx.split(50):
        hits += int((scan(images[rows]).argmax(1) == labels[rows]).sum())
print(f"test accuracy {hits / len(test_idx):.3f}")
