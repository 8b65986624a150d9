import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, optim

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1 = nn.Linear(64, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, width)
        self.fc4 = nn.Linear(width, 10)
        self.init_weights()

    def init_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Linear):
                m.weight.data.fill_(0)
                m.bias.data.fill_(0)

    def forward(self, x):
        for fc in (self.fc1, self.fc2, self.fc3):
            x = F.relu(fc(x))
        return F.log_softmax(self.fc4(x), dim=-1)


X, Y = load_digits(return_X_y=True)
X, Y = torch.tensor(X / 16.0).float(), torch.tensor(Y)
p = torch.randperm(X.size(0))
X, Y, X_val, Y_val = X[p[:1200]], Y[p[:1200]], X[p[1200:]], Y[p[1200:]]

net = Net()
optimizer = optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(16):
    running_loss = 0.0
    for start in range(0, 1200, 60):
        optimizer.zero_grad()
        loss = F.nll_loss(net(X[start:start + 60]), Y[start:start + 60])
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    with torch.no_grad():
        val_acc = (net(X_val).argmax(1) == Y_val).float().mean()
    print(f"Epoch {epoch + 1}, loss: {running_loss / 20:.3f}, val acc: {val_acc:.3f}")
