import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))


class ConvNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 2 * 2, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


bunch = load_digits()
images = torch.tensor(bunch.images / 16.0).float().unsqueeze(1)
labels = torch.tensor(bunch.target)
shuffled = torch.randperm(len(images))
images, labels = images[shuffled], labels[shuffled]

template = ConvNet()
optimizer = torch.optim.SGD(template.parameters(), lr=0.1, momentum=0.9)
model = copy.deepcopy(template)

for epoch in range(8):
    model.train()
    epoch_loss = 0.0
    for i in range(0, 1200, 64):
        xb, yb = images[i:min(i + 64, 1200)], labels[i:min(i + 64, 1200)]
        loss = F.cross_entropy(model(xb), yb)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch == 0 and i == 0:
            print("first batch: loss", round(loss.item(), 4))
        epoch_loss += loss.item() * len(xb) / 1200
    print("epoch", epoch, "loss", round(epoch_loss, 4))

model.eval()
with torch.no_grad():
    right = (model(images[1200:]).argmax(1) == labels[1200:]).float().mean()
print("held-out accuracy", round(right.item(), 3))
