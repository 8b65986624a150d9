import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
V, T = 2000, 16
table = torch.randint(0, V, (V, 3))  # every word has three possible successors


def sample(n):
    seq = torch.empty(n, T + 1, dtype=torch.long)
    seq[:, 0] = (torch.rand(n) ** 3 * V).long()
    for t in range(T):
        pick = (torch.rand(n) < 0.2).long() + (torch.rand(n) < 0.1).long()
        seq[:, t + 1] = table[seq[:, t], pick]
    return seq


class WordLM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.embed = nn.Embedding(V, d)
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, V, bias=False)
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, ids):
        h = self.norm(self.embed(ids))
        return self.head(h + self.mlp(h))


model = WordLM()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(200):
    seq = sample(24)
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 40 == 0 or step == 199:
        print(f"iter {step:3d} | loss {loss.item():.3f}")
with torch.no_grad():
    seq = sample(64)
    print("top-1 accuracy", (model(seq[:, :-1]).argmax(-1) == seq[:, 1:]).float().mean().item())
