import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class SigmoidNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 48)
        self.fc2 = nn.Linear(48, 10)
        nn.init.normal_(self.fc1.weight, std=0.3)

    def forward(self, x):
        h = torch.sigmoid(self.fc1(x))
        return self.fc2(h)


def get_images():
    digits = load_digits()
    pixels = (digits.images * 255 / 16).round().astype("uint8")
    x = torch.from_numpy(pixels).flatten(1).float() / 255
    return x, torch.from_numpy(digits.target)


torch.manual_seed(int(os.environ.get("SEED", 0)))
x, y = get_images()
perm = torch.randperm(len(x))
train, test = perm[:1200], perm[1200:]
net = SigmoidNet()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for step in range(1500):
    b = train[torch.randint(0, 1200, (64,))]
    loss = loss_fn(net(x[b]), y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 150 == 0 or step == 1499:
        print(f"step {step:4d} loss {loss.item():.4f}")
net.eval()
with torch.no_grad():
    print("test accuracy", (net(x[test]).argmax(1) == y[test]).float().mean().item())
