import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Stage(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class TwoExitNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stage1, self.stage2, self.stage3 = Stage(1, 12), Stage(12, 24, 2), Stage(24, 32, 2)
        self.aux_head = nn.Linear(24, classes)
        self.main_head = nn.Linear(32, classes)

    def forward(self, x):
        mid = self.stage2(self.stage1(x))
        out = self.main_head(self.stage3(mid).mean((2, 3)))
        if not self.training:
            return out
        return out, self.aux_head(mid.mean((2, 3)))


def train_epoch(net, loader, opt, aux_weight=0.4):
    net.train()
    meter = 0.0
    for x, y in loader:
        out, aux = net(x)
        loss = F.cross_entropy(out, y) + aux_weight * F.cross_entropy(aux, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter += loss.item() * len(x)
    return meter / len(loader.dataset)


@torch.no_grad()
def test(net, loader):
    net.eval()
    return sum((net(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    d = load_digits()
    x, y = torch.tensor(d.images / 16 - 0.5).float().unsqueeze(1), torch.tensor(d.target)
    train = DataLoader(TensorDataset(x[:1200], y[:1200]), 48, shuffle=True)
    val = DataLoader(TensorDataset(x[1200:], y[1200:]), 200)
    net = TwoExitNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 6)
    for epoch in range(6):
        loss = train_epoch(net, train, opt)
        sched.step()
        print(f"epoch {epoch}: train loss {loss:.4f}  test acc {test(net, val):.4f}")
