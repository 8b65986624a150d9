import os
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", "0")))


def shapes(n, size=16):
    """0 disc, 1 square, 2 cross, 3 ring"""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    imgs, ids = torch.zeros(n, 1, size, size), torch.randint(0, 4, (n,))
    for i in range(n):
        cy, cx = (torch.rand(2) * 6 + 5).tolist()
        r = 2.5 + 1.5 * torch.rand(()).item()
        d = ((yy - cy) ** 2 + (xx - cx) ** 2).sqrt()
        box = torch.maximum((yy - cy).abs(), (xx - cx).abs())
        k = ids[i].item()
        m = [d <= r, box <= r, ((yy - cy).abs() < 1) & (box <= r) | ((xx - cx).abs() < 1) & (box <= r),
             (d <= r) & (d > r - 1.3)][k]
        imgs[i, 0] = m.float()
    return imgs + 0.25 * torch.randn_like(imgs), ids


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Identity() if stride == 1 and cin == cout else nn.Sequential(
            nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        h = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(h)) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.layers = nn.Sequential(BasicBlock(1, 12, 1), BasicBlock(12, 24, 2), BasicBlock(24, 32, 2))
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.layers(x).mean((2, 3)))


def one_epoch(net, loader, criterion, optimizer=None):
    tot = hit = n = 0
    for x, y in loader:
        out = net(x)
        loss = criterion(out, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tot += loss.item() * len(y)
        hit += (out.argmax(1) == y).sum().item()
        n += len(y)
    return tot / n, hit / n


train_loader = DataLoader(TensorDataset(*shapes(1200)), batch_size=48, shuffle=True)
valid_loader = DataLoader(TensorDataset(*shapes(400)), batch_size=200)
net = ResNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
for epoch in range(8):
    net.train()
    tl, ta = one_epoch(net, train_loader, criterion, optimizer)
    net.eval()
    with torch.no_grad():
        vl, va = one_epoch(net, valid_loader, criterion)
    scheduler.step()
    print("Epoch %d | train %.4f / %.3f | valid %.4f / %.3f" % (epoch + 1, tl, ta, vl, va))
