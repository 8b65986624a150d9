import copy
import os

import torch
from torch import nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", "0")))
DIGITS = load_digits()
X = torch.tensor(DIGITS.images / 16, dtype=torch.float32).unsqueeze(1)
Y = torch.tensor(DIGITS.target)


class SmallNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.conv2, self.norm2 = nn.Conv2d(12, 12, 3, padding=1, stride=2), nn.BatchNorm2d(12)
        self.fc = nn.Linear(12 * 16, 16)
        self.classifier = nn.Linear(16, n_classes)

    def forward(self, x):
        x = self.norm1(self.conv1(x)).relu()
        x = self.norm2(self.conv2(x)).relu()
        return self.classifier(self.fc(x.flatten(1)).relu())


def loaders(classes):
    keep = torch.isin(Y, torch.tensor(classes))
    x, y = X[keep], Y[keep] - min(classes)
    cut = int(0.7 * len(x))
    return (DataLoader(TensorDataset(x[:cut], y[:cut]), 32, shuffle=True),
            DataLoader(TensorDataset(x[cut:], y[cut:]), 256))


def fit(net, classes, lr, epochs, label):
    train, val = loaders(classes)
    opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=lr)
    best, best_state = 0.0, None
    for epoch in range(epochs):
        net.train()
        tot = n = 0
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            tot, n = tot + loss.item(), n + 1
        net.eval()
        with torch.no_grad():
            acc = sum((net(x).argmax(1) == y).sum().item() for x, y in val) / len(val.dataset)
        if acc >= best:
            best, best_state = acc, copy.deepcopy(net.state_dict())
        print(f"{label} epoch {epoch + 1} loss {tot / n:.4f} acc {acc:.4f}")
    net.load_state_dict(best_state)
    return net


net = fit(SmallNet(5), [0, 1, 2, 3, 4], 2e-3, 4, "source")
net.classifier = nn.Linear(16, 5)
TUNE = ("norm", "classifier")
for name, p in net.named_parameters():
    p.requires_grad = name.startswith(TUNE)
fit(net, [5, 6, 7, 8, 9], 5e-3, 15, "target")
