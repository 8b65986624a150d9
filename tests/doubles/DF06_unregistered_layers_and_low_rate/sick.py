import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class DeepNet(nn.Module):
    def __init__(self, sizes, n_out):
        super().__init__()
        self.hidden = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
        self.out = nn.Linear(sizes[-1], n_out)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


def batches(x, y, size):
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


def evaluate(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


data = load_digits()
x = torch.as_tensor(data.data, dtype=torch.float32) / 16
y = torch.as_tensor(data.target)
mix = torch.randperm(len(x))
x, y = x[mix], y[mix]
x_train, y_train, x_val, y_val = x[:1200], y[:1200], x[1200:], y[1200:]

net = DeepNet([64, 32, 32, 32], 10)
opt = torch.optim.Adam(net.parameters(), lr=1e-7)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(15):
    for xb, yb in batches(x_train, y_train, 64):
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        if not opt.state:
            print(f"start loss={loss.item():.3f}")
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss={loss.item():.3f} val_acc={evaluate(net, x_val, y_val):.3f}")
print(f"final accuracy {evaluate(net, x_val, y_val):.3f}")
