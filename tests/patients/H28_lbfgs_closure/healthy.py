import os

import torch
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

torch.manual_seed(int(os.environ.get("SEED", 0)))
X, y = load_diabetes(return_X_y=True)
X = torch.tensor(StandardScaler().fit_transform(X), dtype=torch.float32)
y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32).view(-1, 1)
order = torch.randperm(len(X))
tr, te = order[:350], order[350:]

model = torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=5, history_size=10, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    mse = torch.nn.functional.mse_loss(model(X[tr]), y[tr])
    reg = 1e-2 * sum(p.pow(2).sum() for p in model.parameters())
    total = mse + reg
    total.backward()
    return total


for i in range(15):
    loss = opt.step(closure)
    print(f"iteration {i} loss {loss.item():.4f}")
with torch.no_grad():
    r2 = 1 - ((model(X[te]) - y[te]) ** 2).mean() / y[te].var()
print("test R2", r2.item())
