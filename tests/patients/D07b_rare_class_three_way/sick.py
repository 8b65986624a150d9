import os

import numpy as np
import torch
import torch.nn.functional as F

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
kind = rng.choice(3, 4000, p=[0.94, 0.03, 0.03])
t = np.linspace(0, 1, 24)
wave = np.where(kind[:, None] == 1, 0.5 * np.sin(9 * t), 0) + np.where(kind[:, None] == 2, 0.5 * np.cos(9 * t), 0)
series = torch.tensor(wave + rng.normal(0, 0.5, (4000, 24)), dtype=torch.float32).unsqueeze(-1)
labels = torch.tensor(kind)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(1, 24, batch_first=True)
        self.out = torch.nn.Linear(24, 3)

    def forward(self, s):
        return self.out(self.gru(s)[1][-1])


model = Recurrent()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
weight = None
step = 0
for epoch in range(4):
    order = torch.randperm(3500)
    for i in range(0, 3500, 50):
        b = order[i:i + 50]
        loss = F.cross_entropy(model(series[b]), labels[b], weight=weight)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print("step", step, "loss", round(loss.item(), 4))
        step += 1
with torch.no_grad():
    pred = model(series[3500:]).argmax(1)
for c in range(3):
    print("recall of", c, (pred[labels[3500:] == c] == c).float().mean().item())
