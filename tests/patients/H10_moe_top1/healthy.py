import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Top1MoE(nn.Module):
    def __init__(self, d, hidden, n_experts):
        super().__init__()
        self.gate = nn.Linear(d, n_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, d)) for _ in range(n_experts)
        )

    def forward(self, x):
        probs = F.softmax(self.gate(x), dim=-1)
        weight, choice = probs.max(dim=-1)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = (choice == k).nonzero().squeeze(-1)
            if rows.numel():
                out = out.index_add(0, rows, weight[rows, None] * expert(x[rows]))
        share = F.one_hot(choice, len(self.experts)).float().mean(0)
        balance = len(self.experts) * (share * probs.mean(0)).sum()
        return x + out, balance


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(64, 32)
        self.moe = Top1MoE(32, 32, 8)
        self.out = nn.Linear(32, 10)

    def forward(self, x):
        h, balance = self.moe(F.relu(self.inp(x)))
        return self.out(h), balance


def main():
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    d = load_digits()
    X, y = torch.tensor(d.data).float() / 16, torch.tensor(d.target)
    p = torch.randperm(len(X))
    X, y = X[p], y[p]
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(500):
        i = torch.randint(0, 1200, (24,))
        logits, balance = model(X[i])
        loss = F.cross_entropy(logits, y[i]) + 0.01 * balance
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0 or step == 499:
            print(f"step {step} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print("val accuracy", (model(X[1200:])[0].argmax(1) == y[1200:]).float().mean().item())


main()
