import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


def conv_bn(cin, cout, momentum):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout, momentum=momentum),
        nn.ReLU(inplace=True),
    )


class ConvNet(nn.Module):
    def __init__(self, bn_momentum):
        super().__init__()
        self.stem = conv_bn(1, 8, bn_momentum)
        self.stage = conv_bn(8, 16, bn_momentum)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(16 * 4, 10)

    def forward(self, x):
        x = self.pool(self.stem(x))
        x = self.pool(self.stage(x))
        return self.fc(x.flatten(1))


config = {"bn_momentum": 0.1, "lr": 0.02, "epochs": 8, "batch": 60}

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
model = ConvNet(config["bn_momentum"])
opt = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9, nesterov=True)
for epoch in range(config["epochs"]):
    model.train()
    total = 0.0
    for idx in torch.randperm(1200).split(config["batch"]):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        total += loss.item() / 20
    model.eval()
    with torch.no_grad():
        out = model(x[1200:])
        val = nn.functional.cross_entropy(out, y[1200:]).item()
        acc = (out.argmax(1) == y[1200:]).float().mean().item()
    print(f"epoch {epoch} loss {total:.4f} val_loss {val:.4f} val_acc {acc:.3f}")
print("val cross-entropy", val)
