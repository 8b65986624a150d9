import os

import torch
import torch.nn as nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
WINDOW, SENSORS = 16, 16
fault_of_sensor = torch.tensor([0, 2, 1, 3, 3, 1, 0, 2, 1, 0, 2, 3, 2, 3, 0, 1])


def record(n):
    """Windows of shape (n, time, sensor); one sensor shows a short burst."""
    x = 0.3 * torch.randn(n, WINDOW, SENSORS)
    sensor = torch.randint(0, SENSORS, (n,))
    start = torch.randint(0, WINDOW - 3, (n,))
    for i in range(n):
        x[i, start[i] : start[i] + 3, sensor[i]] += torch.tensor([1.5, -1.5, 1.5])
    return x, fault_of_sensor[sensor]


class BurstDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(SENSORS, 48, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm1d(48)
        self.head = nn.Linear(48, 4)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x)))
        return self.head(h.amax(dim=2))


x, y = record(1500)
xv, yv = record(500)
net = BurstDetector()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(12):
    net.train()
    total = 0.0
    for b in torch.randperm(len(x)).split(50):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[b]), y[b])
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 30:.4f}")
net.eval()
with torch.no_grad():
    print("val accuracy", (net(xv).argmax(1) == yv).float().mean().item())
