import os

import torch
import torch.nn as nn

torch.manual_seed(int(os.environ.get("SEED", 0)))

x = torch.linspace(0, 10, 200).unsqueeze(1)
y = 5 * x ** 2 + 4 * torch.randn_like(x)
x = (x - x.mean()) / x.std()
y = (y - y.mean()) / y.std()


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1, 20)
        self.output = nn.Linear(20, 1)

    def forward(self, x):
        return self.output(nn.functional.leaky_relu(self.hidden(x)))


curve = Curve()
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(curve.parameters(), lr=0.1)

for epoch in range(500):
    prediction = curve(x)
    loss = loss_fn(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch < 5 or epoch % 100 == 99:
        print("epoch {:3d}, loss {:.5g}".format(epoch, loss.item()))

with torch.no_grad():
    explained = 1 - loss_fn(curve(x), y) / y.var()
print("explained variance {:.3f}".format(explained.item()))
