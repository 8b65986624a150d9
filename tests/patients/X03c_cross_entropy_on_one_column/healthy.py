import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_moons


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.head = nn.Linear(32, 1)

    def forward(self, points):
        return self.head(self.backbone(points))


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    points, side = make_moons(1000, noise=0.15, random_state=seed)
    data = TensorDataset(torch.tensor(points, dtype=torch.float32), torch.tensor(side, dtype=torch.float32).unsqueeze(1))
    loader = DataLoader(data, batch_size=40, shuffle=True)
    model = Classifier()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(12):
        for batch, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(batch), target)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.5f}")
    with torch.no_grad():
        guess = (model(data.tensors[0]) > 0).float()
    print("accuracy", (guess == data.tensors[1]).float().mean().item())


main()
