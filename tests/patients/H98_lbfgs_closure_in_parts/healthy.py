import os

import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

torch.manual_seed(int(os.environ.get("SEED", "0")))
x, y = load_wine(return_X_y=True)
x = torch.tensor(StandardScaler().fit_transform(x), dtype=torch.float32)
y = torch.tensor(y)
order = torch.randperm(len(y))
x, y, x_test, y_test = x[order[:130]], y[order[:130]], x[order[130:]], y[order[130:]]

net = torch.nn.Sequential(torch.nn.Linear(13, 16), torch.nn.Softplus(), torch.nn.Linear(16, 3))
opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=6, line_search_fn="strong_wolfe")
PART = 26


def full_gradient():
    """The whole training set, a part at a time: the gradients of the parts add up on purpose."""
    for p in net.parameters():
        if p.grad is not None:
            p.grad.zero_()
    total = 0.0
    for at in range(0, len(x), PART):
        part = torch.nn.functional.cross_entropy(net(x[at:at + PART]), y[at:at + PART], reduction="sum") / len(x)
        part.backward()
        total += part.detach()
    decay = 5e-3 * sum((p ** 2).sum() for p in net.parameters() if p.dim() > 1)
    decay.backward()
    return total + decay.detach()


for outer in range(12):
    loss = opt.step(full_gradient)
    with torch.no_grad():
        acc = (net(x_test).argmax(1) == y_test).float().mean()
    print(f"outer {outer:2d} loss {float(loss):.4f} test acc {float(acc):.3f}")
