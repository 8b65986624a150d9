import os

import torch
from sklearn.datasets import load_diabetes
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
X, y = load_diabetes(return_X_y=True)
X = torch.tensor(X / X.std(axis=0), dtype=torch.float32)
y = torch.tensor((y - 150) / 77, dtype=torch.float32)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]
train_x, train_y = X[:340], y[:340]
test_x, test_y = X[340:], y[340:]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 32)
        self.out = nn.Linear(32, 1)
        for layer in (self.hidden, self.out):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


net = Regressor()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
for epoch in range(40):
    for i in range(0, 340, 34):
        prediction = net(train_x[i : i + 34])
        error = prediction - train_y[i : i + 34]
        loss = (error**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0 or epoch == 39:
        print(f"epoch {epoch} loss {loss.item():.4f}")

net.eval()
with torch.no_grad():
    residual = net(test_x).flatten() - test_y
    print("test R2", (1 - residual.pow(2).mean() / test_y.var()).item())
