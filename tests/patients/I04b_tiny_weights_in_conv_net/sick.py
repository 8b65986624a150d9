import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


def conv_block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.ReLU(inplace=True))


def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.Linear)):
        nn.init.normal_(m.weight, 0.0, 0.003)
        nn.init.zeros_(m.bias)


class SmallVGG(nn.Module):
    def __init__(self, widths=(8, 8, 16, 16, 24)):
        super().__init__()
        blocks, c = [], 1
        for i, w in enumerate(widths):
            blocks.append(conv_block(c, w))
            if i in (1, 3):
                blocks.append(nn.MaxPool2d(2))
            c = w
        self.body = nn.Sequential(*blocks)
        self.fc1 = nn.Linear(c * 4, 40)
        self.fc2 = nn.Linear(40, 10)
        self.apply(init_weights)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(self.body(x).flatten(1))))


bunch = load_digits()
X = torch.tensor(bunch.images, dtype=torch.float32)[:, None]
X = (X - X.mean()) / X.std()
y = torch.tensor(bunch.target)
perm = torch.randperm(len(y))
train, test = perm[:1300], perm[1300:]

device = torch.device("cpu")
net = SmallVGG().to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, nesterov=True)
ce = nn.CrossEntropyLoss()
step = 0
for epoch in range(6):
    for i in range(0, 1300, 50):
        idx = train[i : i + 50]
        opt.zero_grad()
        loss = ce(net(X[idx].to(device)), y[idx].to(device))
        loss.backward()
        opt.step()
        if step % 25 == 0:
            print("step", step, "loss", round(loss.item(), 4))
        step += 1
    train = train[torch.randperm(len(train))]
print("last", round(loss.item(), 4))
net.eval()
with torch.no_grad():
    print("test accuracy", (net(X[test]).argmax(1) == y[test]).float().mean().item())
