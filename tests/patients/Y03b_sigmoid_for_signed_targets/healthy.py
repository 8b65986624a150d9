import os

import torch

torch.manual_seed(int(os.environ.get("SEED", 0)))
x = torch.rand(4000, 30) * 2 - 1
y = x[:, 1]

hidden = torch.nn.Linear(30, 8)
output = torch.nn.Linear(8, 1)


def copy_one(batch):
    h = hidden(batch)
    return output(h)


def mean_squared_error(prediction, wanted):
    return ((prediction[:, 0] - wanted) ** 2).mean()


optimizer = torch.optim.Adam([*hidden.parameters(), *output.parameters()], lr=1e-2)
for epoch in range(8):
    for start in range(0, len(x), 50):
        loss = mean_squared_error(copy_one(x[start:start + 50]), y[start:start + 50])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")
with torch.no_grad():
    print("error over variance", (mean_squared_error(copy_one(x), y) / y.var()).item())
