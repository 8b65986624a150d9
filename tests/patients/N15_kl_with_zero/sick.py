import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
x = torch.tensor(d.data).float() / 16
teacher = F.one_hot(torch.tensor(d.target), 10).float() * 0.9
teacher[:, 0] += 0.1
student = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
opt = torch.optim.Adam(student.parameters(), lr=2e-3)


def divergence(p, q):
    return (p * (p.log() - q)).sum(1).mean()


for step in range(300):
    i = torch.randint(0, 1200, (64,))
    loss = divergence(teacher[i], student(x[i]).log_softmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 299:
        print(f"step {step} loss {loss.item():.4f}")
