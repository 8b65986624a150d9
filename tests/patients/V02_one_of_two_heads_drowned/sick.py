import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.kind = nn.Linear(64, 4)
        self.box = nn.Linear(64, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.box(h)


def data(n):
    x = torch.randn(n, 12)
    kind = (x[:, 0] > 0).long() * 2 + (x[:, 1] * x[:, 2] > 0).long()
    return x, kind, torch.stack([x[:, 3] + 0.5 * x[:, 4], x[:, 5]], 1)


BOX = 1e4
torch.manual_seed(int(os.environ.get("SEED", 0)))
x, kind, box = data(1500)
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05 / BOX)
for epoch in range(20):
    for rows in torch.randperm(1200).split(40):
        scores, boxes = model(x[rows])
        kind_loss = F.cross_entropy(scores, kind[rows])
        box_loss = F.mse_loss(boxes, box[rows])
        loss = kind_loss + BOX * box_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0 or epoch == 19:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("accuracy", (model(x[1200:])[0].argmax(1) == kind[1200:]).float().mean().item())
