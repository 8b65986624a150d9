import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
SIZE = 16


def scenes(n):
    """One bright bar in a noisy picture. -> pictures, whether there is one, its centre, its size, its angle."""
    ys, xs = torch.meshgrid(torch.arange(SIZE).float(), torch.arange(SIZE).float(), indexing="ij")
    there = (torch.rand(n) < 0.7).float()
    centre, size, angle = 4 + 8 * torch.rand(n, 2), 2 + 3 * torch.rand(n, 2), 0.8 * (torch.rand(n) - 0.5)
    dx, dy = xs - centre[:, 0, None, None], ys - centre[:, 1, None, None]
    c, s = angle.cos()[:, None, None], angle.sin()[:, None, None]
    u, v = (c * dx + s * dy) / size[:, 0, None, None], (c * dy - s * dx) / size[:, 1, None, None]
    pictures = torch.exp(-u ** 4 - v ** 4) * there[:, None, None] + 0.1 * torch.randn(n, SIZE, SIZE)
    return pictures[:, None], there, centre / SIZE, size / SIZE, angle


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(),
                                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 64), nn.ReLU())
        self.score = nn.Linear(64, 1)
        self.position = nn.Linear(64, 2)
        self.dimension = nn.Linear(64, 2)
        self.angle = nn.Linear(64, 1)

    def forward(self, x):
        f = self.features(x)
        return self.score(f)[:, 0], self.position(f), self.dimension(f), self.angle(f)[:, 0]


def losses(outputs, truth):
    score, position, dimension, angle = outputs
    there, centre, size, turn = truth
    parts = {
        "score": F.binary_cross_entropy_with_logits(score, there),
        "position": (there[:, None] * (position - centre) ** 2).sum() / there.sum(),
        "dimension": (there[:, None] * (dimension - size).abs()).sum() / there.sum(),
        "angle": (there * (angle - turn) ** 2).sum() / there.sum(),
    }
    total = sum(parts.values())
    return total, parts


net = Detector()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    pictures, *truth = scenes(48)
    loss, parts = losses(net(pictures), truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 299:
        print(step, " ".join(f"{name} {part.item():.4f}" for name, part in parts.items()))

pictures, there, centre, *_ = scenes(500)
with torch.no_grad():
    off = ((net(pictures)[1] - centre).norm(dim=1) * there).sum() / there.sum()
print(f"mean distance from the true centre {SIZE * off.item():.2f} pixels")
