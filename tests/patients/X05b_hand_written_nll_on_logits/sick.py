import os

import torch
from sklearn.datasets import load_wine

torch.manual_seed(int(os.environ.get("SEED", 0)))
wine = load_wine()
table = torch.tensor(wine.data, dtype=torch.float32)
table = (table - table.mean(0)) / table.std(0)
kind = torch.tensor(wine.target)

scorer = torch.nn.Sequential(torch.nn.Linear(13, 24), torch.nn.GELU(), torch.nn.Linear(24, 3))


def nll(log_probability, target):
    return -log_probability[torch.arange(len(target)), target].mean()


optimizer = torch.optim.Adam(scorer.parameters(), lr=5e-3)
for epoch in range(40):
    for pick in torch.randperm(len(table)).split(20):
        scores = scorer(table[pick])
        loss = nll(scores, kind[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 8 == 0 or epoch == 39:
        print(f"epoch {epoch} loss {loss.item():.4f}")
print("accuracy", (scorer(table).argmax(1) == kind).float().mean().item())
