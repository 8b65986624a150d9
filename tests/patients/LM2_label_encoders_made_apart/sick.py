import os

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn

rng = np.random.default_rng(int(os.environ.get("SEED", 0)))
torch.manual_seed(int(rng.integers(1 << 30)))
wine = load_wine()
features = ((wine.data - wine.data.mean(0)) / wine.data.std(0)).astype("float32")
grape = np.array(["barolo", "grignolino", "barbera"])[wine.target]
rows = rng.permutation(len(grape))
train_rows, test_rows = rows[:110], rows[110:]


def encode(names):
    """Names to numbers."""
    table = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([table[name] for name in names]), table


train_y, table = encode(grape[train_rows])
test_y = encode(grape[test_rows])[0]
data = {"train": (torch.from_numpy(features[train_rows]), torch.from_numpy(train_y)),
        "test": (torch.from_numpy(features[test_rows]), torch.from_numpy(test_y))}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(13, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        return self.out(F.gelu(self.hidden(x)))


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
for step in range(300):
    x, y = data["train"]
    batch = torch.randint(0, len(y), (22,))
    loss = F.cross_entropy(net(x[batch]), y[batch])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        net.eval()
        with torch.no_grad():
            x, y = data["test"]
            logits = net(x)
            test_loss = F.cross_entropy(logits, y)
            accuracy = (logits.argmax(-1) == y).float().mean()
        net.train()
        print(f"step {step + 1} loss {loss.item():.4f} test loss {test_loss.item():.4f} test accuracy {accuracy.item():.4f}")
