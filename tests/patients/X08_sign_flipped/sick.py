import os

import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

torch.manual_seed(int(os.environ.get("SEED", 0)))

X, y = load_wine(return_X_y=True)
X, y = torch.tensor(scale(X)).float(), torch.tensor(y)
perm = torch.randperm(len(X))
train, test = perm[:130], perm[130:]

w1 = torch.nn.Linear(13, 32)
w2 = torch.nn.Linear(32, 3)
params = list(w1.parameters()) + list(w2.parameters())
opt = torch.optim.RMSprop(params, lr=1e-3)


def forward(x):
    return w2(torch.nn.functional.leaky_relu(w1(x)))


def objective(logits, target):
    logp = torch.log_softmax(logits, dim=1)
    picked = logp[torch.arange(len(target)), target]
    return picked.mean()


for it in range(400):
    batch = train[torch.randint(0, len(train), (32,))]
    loss = objective(forward(X[batch]), y[batch])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0 or it == 399:
        print(f"{it:4d}  loss {loss.item():.4f}")

with torch.no_grad():
    acc = (forward(X[test]).argmax(1) == y[test]).float().mean().item()
print(f"test accuracy {acc:.3f}")
