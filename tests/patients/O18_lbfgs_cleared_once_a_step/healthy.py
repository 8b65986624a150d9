import os

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

torch.manual_seed(int(os.environ.get("SEED", "0")))
table = load_breast_cancer()
features = torch.tensor(StandardScaler().fit_transform(table.data), dtype=torch.float64)
labels = torch.tensor(table.target, dtype=torch.float64)
shuffled = torch.randperm(len(labels))
fit_on, test_on = shuffled[:400], shuffled[400:]

# two-layer scorer written with plain tensors
w1 = (torch.randn(30, 8, dtype=torch.float64) / 30 ** 0.5).requires_grad_()
b1 = torch.zeros(8, dtype=torch.float64, requires_grad=True)
w2 = (torch.randn(8, dtype=torch.float64) / 8 ** 0.5).requires_grad_()
b2 = torch.zeros((), dtype=torch.float64, requires_grad=True)
weights = [w1, b1, w2, b2]


def scores(rows):
    return torch.tanh(rows @ w1 + b1) @ w2 + b2


def negative_log_likelihood(rows, truth):
    s = scores(rows)
    return (torch.nn.functional.softplus(s) - truth * s).mean() + 1e-3 * (w1.square().sum() + w2.square().sum())


solver = torch.optim.LBFGS(weights, lr=0.2, max_iter=20)


def evaluate():
    for w in weights:
        w.grad = None
    nll = negative_log_likelihood(features[fit_on], labels[fit_on])
    nll.backward()
    return nll


for sweep in range(25):
    value = solver.step(evaluate)
    if sweep % 4 == 0:
        with torch.no_grad():
            right = ((scores(features[test_on]) > 0) == (labels[test_on] > 0.5)).double().mean()
        print(f"sweep {sweep}: nll {value.item():.4f}, right on test {right.item():.3f}")
