"""Will the visitor buy? A habit of each visitor, from earlier visits, beside what is known of this one."""
import os

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

VISITORS, BATCH = 1300, 50


def visits(count, rng):
    visitor = rng.integers(0, VISITORS, count)
    taste = np.random.default_rng(5).normal(0, 0.5, VISITORS)[visitor]
    pages, minutes, discount = rng.normal(size=count), rng.normal(size=count), rng.normal(size=count)
    score = taste + 1.8 * pages - 1.4 * minutes + 1.2 * discount * (discount > 0) - 0.5
    bought = (score + rng.logistic(0, 0.7, count) > 0).astype(int)
    return visitor, np.stack([pages, minutes, discount], 1), bought


def habit(visitor, bought):
    """(visits, purchases) of each visitor."""
    return np.bincount(visitor, minlength=VISITORS), np.bincount(visitor, weights=bought, minlength=VISITORS)


def table(known, seen, bought_before):
    times, bought = seen
    rate = (bought + bought_before) / (times + 1)
    return np.column_stack([known, 2 * rate - 1]).astype(np.float32)


def prepare(rng):
    visitor, known, bought = visits(3000, rng)
    times, sums = habit(visitor, bought)
    mean = bought.mean()
    train = table(known, (times[visitor] - 1, sums[visitor] - bought), mean)
    late, later, outcome = visits(1500, rng)
    test = table(later, (times[late], sums[late]), mean)
    return TensorDataset(torch.from_numpy(train), torch.from_numpy(bought)), TensorDataset(torch.from_numpy(test), torch.from_numpy(outcome))


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, width), nn.Linear(4, width), nn.Linear(width, 2)

    def forward(self, x):
        return self.out(torch.relu(self.a(x)) * torch.sigmoid(self.b(x)))


def evaluate(net, loader, objective):
    total = right = 0
    with torch.inference_mode():
        for x, y in loader:
            scores = net(x)
            total += objective(scores, y).item() * len(y)
            right += (scores.max(1).indices == y).sum().item()
    return total / len(loader.dataset), right / len(loader.dataset)


seed = int(os.environ.get("SEED", "0"))
torch.manual_seed(seed)
train, test = prepare(np.random.default_rng(seed))
net, objective = Gate(24), nn.CrossEntropyLoss()
optimizer = optim.RMSprop(net.parameters(), lr=2e-3)
for epoch in range(10):
    net.train()
    seen = []
    for x, y in DataLoader(train, BATCH, shuffle=True):
        loss = objective(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    net.eval()
    later, share = evaluate(net, DataLoader(test, 250), objective)
    print(f"epoch {epoch} loss {np.mean(seen):.4f} later visits: loss {later:.4f} right {share:.3f}")
