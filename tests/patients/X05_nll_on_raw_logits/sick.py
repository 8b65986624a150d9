import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def train(model, data, target, optimizer, epoch):
    model.train()
    for batch_idx, idx in enumerate(torch.randperm(len(data)).split(50)):
        optimizer.zero_grad()
        output = model(data[idx])
        loss = F.nll_loss(output, target[idx])
        loss.backward()
        optimizer.step()
        if batch_idx % 12 == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * 50}/{len(data)}]\tLoss: {loss.item():.6f}")


def test(model, data, target):
    model.eval()
    with torch.no_grad():
        pred = model(data).argmax(dim=1)
    return pred.eq(target).float().mean().item()


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
target = torch.tensor(digits.target)
order = torch.randperm(len(images))
tr, te = order[:1200], order[1200:]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 9):
    train(model, images[tr], target[tr], optimizer, epoch)
print("Test accuracy:", test(model, images[te], target[te]))
