import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class AdaptedLinear(nn.Module):
    """A fixed linear map plus a trainable low-rank correction."""

    def __init__(self, n_in, n_out, rank=8, alpha=16):
        super().__init__()
        self.base = nn.Linear(n_in, n_out)
        self.base.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(rank, n_in))
        self.B = nn.Parameter(torch.zeros(n_out, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T @ self.B.T)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            AdaptedLinear(64, 64), nn.ReLU(), AdaptedLinear(64, 64), nn.ReLU(), AdaptedLinear(64, 10)
        )

    def forward(self, x):
        return self.body(x)


data = load_digits()
x = torch.tensor(data.data / 16).float()
y = torch.tensor(data.target).long()
perm = torch.randperm(len(y))
train, test = perm[:1200], perm[1200:]

model = Model()
trainable = [p for p in model.parameters() if p.requires_grad]
print(f"training {sum(p.numel() for p in trainable)} of {sum(p.numel() for p in model.parameters())} values")
optimizer = torch.optim.AdamW(trainable, lr=5e-3, weight_decay=0.0)

for epoch in range(15):
    for rows in train[torch.randperm(1200)].split(64):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        whole = nn.functional.cross_entropy(model(x[train]), y[train]).item()
        accuracy = (model(x[test]).argmax(1) == y[test]).float().mean().item()
    print(f"epoch {epoch} loss {whole:.4f} test accuracy {accuracy:.3f}")
