# L2-regularised softmax regression with one hidden layer, after the exercise sheet
import os

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

torch.manual_seed(int(os.environ.get("SEED", 0)))
lamb = 1e-4
alpha = 0.3

X, y = load_wine(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(scale(X), y, test_size=0.3, random_state=int(os.environ.get("SEED", 0)), stratify=y)
Xtr, Xte = torch.tensor(Xtr, dtype=torch.float32), torch.tensor(Xte, dtype=torch.float32)
Ytr = torch.eye(3)[torch.tensor(ytr)]
yte = torch.tensor(yte)

theta1 = torch.randn(13, 25) * 13**-0.5
theta2 = torch.randn(25, 3) * 25**-0.5
theta1.requires_grad_()
theta2.requires_grad_()


def hypothesis(x):
    return torch.log_softmax(torch.tanh(x @ theta1) @ theta2, dim=1)


def cost(x, onehot):
    likelihood = -(onehot * hypothesis(x)).sum(1).mean()
    penalty = (theta1**2).sum() + (theta2**2).sum()
    return likelihood + lamb * penalty


J = []
for iteration in range(300):
    rows = torch.randint(len(Xtr), (40,))
    j = cost(Xtr[rows], Ytr[rows])
    j.backward()
    with torch.no_grad():
        theta1 -= alpha * theta1.grad
        theta2 -= alpha * theta2.grad
    theta1.grad = theta2.grad = None
    J.append(j.item())
    if iteration % 60 == 0 or iteration == 299:
        print(f"iteration {iteration}: J = {j.item():.4f}")

with torch.no_grad():
    print("test accuracy", (hypothesis(Xte).argmax(1) == yte).float().mean().item())
