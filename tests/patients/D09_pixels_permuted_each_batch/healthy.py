# %%
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits

SEED = int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)

# %% data
bunch = load_digits()
X = torch.as_tensor(bunch.images, dtype=torch.float32).div(16).sub(0.3).flatten(1)
t = torch.as_tensor(bunch.target)
idx = torch.randperm(len(X))
Xtr, ttr, Xva, tva = X[idx[:1300]], t[idx[:1300]], X[idx[1300:]], t[idx[1300:]]


# %% augmentation
def augment(batch):
    """A little variety, so that 1300 pictures go further."""
    noisy = batch + 0.05 * torch.randn_like(batch)
    mask = torch.rand_like(batch) < 0.03
    return noisy.masked_fill(mask, -0.3)


# %% network: three matrices, no modules
def init(n_in, n_out):
    return (torch.randn(n_in, n_out) * (2 / n_in) ** 0.5).requires_grad_()


W1, W2, W3 = init(64, 96), init(96, 48), init(48, 10)
b1, b2, b3 = (torch.zeros(n, requires_grad=True) for n in (96, 48, 10))


def net(x):
    x = F.relu(x @ W1 + b1)
    x = F.relu(x @ W2 + b2)
    return x @ W3 + b3


# %% training
opt = torch.optim.AdamW([W1, W2, W3, b1, b2, b3], lr=2e-3)
history = []
for it in range(420):
    rows = torch.randint(len(Xtr), (64,))
    loss = F.cross_entropy(net(augment(Xtr[rows])), ttr[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(float(loss))
    if it % 70 == 0 or it == 419:
        print(f"it {it:4d}  train loss {history[-1]:.4f}")

# %% validation
with torch.no_grad():
    acc = (net(Xva).argmax(-1) == tva).float().mean()
print(f"first {history[0]:.3f} last {sum(history[-20:]) / 20:.3f} val acc {acc:.3f}")
