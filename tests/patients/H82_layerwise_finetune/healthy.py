"""Pre-train on all digits, then adapt to blurred scans with layer-wise decayed, very small rates."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def data():
    d = load_digits()
    x = torch.tensor(d.data / 16, dtype=torch.float32)
    y = torch.tensor(d.target)
    p = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    return x[p], y[p]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 128), nn.Linear(128, 128), nn.Linear(128, 128)])
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        for l in self.layers:
            x = F.gelu(l(x))
        return self.head(x)


def param_groups(net, base, decay):
    groups = [{"params": net.head.parameters(), "lr": base}]
    for k, l in enumerate(reversed(net.layers)):
        groups.append({"params": l.parameters(), "lr": base * decay ** (k + 1)})
    return groups


def fit(net, x, y, xv, yv, opt, epochs, tag, every):
    for ep in range(epochs):
        tot = 0.0
        for j in torch.randperm(len(y)).split(32):
            loss = F.cross_entropy(net(x[j]), y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(j)
        if ep % every == every - 1:
            with torch.no_grad():
                o = net(xv)
            print(f"{tag} {ep + 1} train {tot / len(y):.4f} val {F.cross_entropy(o, yv):.4f} acc {(o.argmax(1) == yv).float().mean():.4f}")


torch.manual_seed(int(os.environ.get("SEED", "0")))
x, y = data()
net = Net()
fit(net, x[:900], y[:900], x[1500:], y[1500:], torch.optim.AdamW(net.parameters(), 5e-4), 12, "pretrain", 4)
blur = lambda a: 0.5 * a + 0.5 * F.avg_pool2d(F.pad(a.view(-1, 1, 8, 8), (1, 1, 1, 1)), 3, 1).flatten(1)
opt = torch.optim.AdamW(param_groups(net, 3e-5, 0.6), weight_decay=0.01)
fit(net, blur(x[900:1500]), y[900:1500], blur(x[1500:]), y[1500:], opt, 30, "adapt", 5)
