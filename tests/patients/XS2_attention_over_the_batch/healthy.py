import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
STEPS, CHANNELS = 12, 3


def episodes(n):
    """Class: in which of three channels the two pulses are (they are alike), against lone pulses in the others."""
    x = 0.2 * torch.randn(n, STEPS, CHANNELS)
    y = torch.randint(0, 3, (n,))
    for i in range(n):
        for c in range(CHANNELS):
            at = torch.randperm(STEPS)[:2]
            x[i, at[0], c] += 2
            x[i, at[1], c] += 2 if c == y[i] else -2
    return x, y


def build():
    layer = nn.TransformerEncoderLayer(d_model=24, nhead=3, dim_feedforward=48, dropout=0.0, batch_first=True)
    return nn.ModuleDict({"lift": nn.Linear(CHANNELS, 24), "encoder": nn.TransformerEncoder(layer, 1), "head": nn.Linear(24, 3)})


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = build()
        self.clock = nn.Parameter(torch.randn(STEPS, 24) * 0.1)

    def forward(self, x):
        h = self.parts["encoder"](self.parts["lift"](x) + self.clock)
        return self.parts["head"](h.amax(1))


x, y = episodes(1500)
model = Classifier()
criterion = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(1200).split(40):
        opt.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item())
