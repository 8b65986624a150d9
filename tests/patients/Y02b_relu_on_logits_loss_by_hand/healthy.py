import os

import torch
from sklearn.datasets import load_digits
from torch import nn


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 12, 3, padding=1)
        self.fc = nn.Linear(12 * 4, 10)

    def forward(self, x):
        x = torch.max_pool2d(self.conv1(x).relu(), 2)
        x = torch.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc(x.flatten(1))


def cross_entropy(scores, one_hot):
    log_p = scores - torch.logsumexp(scores, dim=1, keepdim=True)
    return -(one_hot * log_p).sum(dim=1).mean()


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
x = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
y = torch.tensor(digits.target)
one_hot = torch.eye(10)[y]
model = Digits()
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(6):
    for i in range(0, 1500, 30):
        loss = cross_entropy(model(x[i:i + 30]), one_hot[i:i + 30])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
model.eval()
with torch.no_grad():
    print("accuracy", (model(x[1500:]).argmax(1) == y[1500:]).float().mean().item())
