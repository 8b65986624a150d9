import os

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = int(os.environ.get("SEED", 0))
torch.manual_seed(SEED)
np.random.seed(SEED)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


images, labels = load_digits(return_X_y=True)
x_train, x_val, y_train, y_val = train_test_split(images / 16, labels, train_size=1200, random_state=SEED)
as_set = lambda x, y: TensorDataset(torch.tensor(x).float(), torch.tensor(y).long())
train_loader = DataLoader(as_set(x_train, y_train), batch_size=64, shuffle=True)
val_loader = DataLoader(as_set(x_val, y_val), batch_size=256)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

for epoch in range(1, 13):
    net.train()
    for i, (inputs, targets) in enumerate(train_loader):
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        if epoch == 1 and i == 0:
            print("initial loss: %.4f" % loss.item())

    net.eval()
    correct = 0
    with torch.no_grad():
        for inputs, targets in val_loader:
            correct += (net(inputs).argmax(dim=1) == targets).sum().item()
    print("epoch %2d  loss: %.4f  val acc: %.3f" % (epoch, loss.item(), correct / len(x_val)))
