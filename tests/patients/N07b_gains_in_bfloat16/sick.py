"""Only scale vectors are tuned (as in (IA)3) on top of a fixed random feature net."""
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine

torch.manual_seed(int(os.environ.get("SEED", 0)))
w = load_wine()
X = torch.tensor(w.data, dtype=torch.float32)
X = (X - X.mean(0)) / X.std(0)
Y = torch.tensor(w.target)
dtype = torch.bfloat16
A = (torch.randn(13, 256) / 13 ** 0.5).to(dtype)
B = (torch.randn(256, 128) / 16).to(dtype)
C = (torch.randn(128, 3) / 11).to(dtype)
scale1 = torch.ones(256, dtype=dtype, requires_grad=True)
scale2 = torch.ones(128, dtype=dtype, requires_grad=True)
opt = torch.optim.AdamW([scale1, scale2], lr=1e-3, weight_decay=0.0)
for step in range(500):
    idx = torch.randint(0, len(X), (64,))
    h = torch.relu(X[idx].to(dtype) @ A) * scale1
    h = torch.relu(h @ B) * scale2
    loss = F.cross_entropy((h @ C).float(), Y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.4f}")
