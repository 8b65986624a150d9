import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
LENGTH, SYMBOLS = 14, 20


def strings(n):
    """Does the first symbol come again, and if so, what follows it there? Class 0 is "never"."""
    x = torch.randint(4, SYMBOLS, (n, LENGTH))
    x[:, 0] = torch.randint(4, SYMBOLS, (n,))
    y = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        x[i, 1:][x[i, 1:] == x[i, 0]] = 4 if x[i, 0] != 4 else 5
        if i % 5:
            at = int(torch.randint(2, LENGTH - 1, (1,)))
            x[i, at] = x[i, 0]
            x[i, at + 1] = i % 4
            y[i] = 1 + i % 4
    return x, y


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q = self.q(x).view(b, self.heads, t, d // self.heads)
        k = self.k(x).view(b, self.heads, t, d // self.heads)
        v = self.v(x).view(b, self.heads, t, d // self.heads)
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.scale, dim=-1)
        return self.mix((weights @ v).reshape(b, t, d))


class Encoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.symbol, self.position = nn.Embedding(SYMBOLS, dim), nn.Embedding(LENGTH, dim)
        self.attention = nn.ModuleList([SelfAttention(dim, 4) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])
        self.classify = nn.Linear(dim, 5)

    def forward(self, x):
        h = self.symbol(x) + self.position(torch.arange(x.shape[1]))
        for attention, norm in zip(self.attention, self.norms):
            h = h + attention(norm(h))
        return self.classify(h.mean(1))


x, y = strings(2000)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    order = torch.randperm(1600)
    total = 0.0
    for at in range(0, 1600, 64):
        b = order[at : at + 64]
        loss = F.cross_entropy(model(x[b]), y[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 25
    with torch.no_grad():
        right = (model(x[1600:]).argmax(1) == y[1600:]).float().mean().item()
    print(f"epoch {epoch} loss {total:.4f} right {right:.3f}")
