"""Handwritten digits with a small network. It runs without an error, and does not learn: whyloss says why."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def build_model(hidden):
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def main():
    images, labels = load_digits(return_X_y=True)
    inputs = torch.tensor(images / 16, dtype=torch.float32)
    targets = torch.tensor(labels)
    loader = DataLoader(TensorDataset(inputs[:1400], targets[:1400]), batch_size=64, shuffle=True)

    model = build_model(hidden=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    criterion(model(inputs[:2]), targets[:2]).backward()  # do the shapes fit?
    model = build_model(hidden=64)  # start again from clean weights and gradients

    for epoch in range(5):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(inputs[1400:]).argmax(1) == targets[1400:]).float().mean()
        print(f"epoch {epoch}  loss {loss.item():.3f}  validation accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
