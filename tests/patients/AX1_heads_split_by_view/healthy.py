import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
LENGTH, ITEMS, COLOURS = 16, 15, 4


def shelves(n):
    """15 items in some order, each with a colour; the first place asks for one item. Class: the colour of that item."""
    items = torch.stack([torch.randperm(ITEMS) for _ in range(n)])
    colours = torch.randint(COLOURS, (n, ITEMS))
    wanted = torch.randint(ITEMS, (n, 1))
    asked = items.gather(1, wanted)
    item = torch.cat([asked, items], 1)
    colour = torch.cat([torch.full((n, 1), COLOURS), colours], 1)
    return torch.stack([item, colour], -1), colours.gather(1, wanted).squeeze(1)


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q = self.q(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        k = self.k(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.scale, dim=-1)
        return self.mix((weights @ v).transpose(1, 2).reshape(b, t, d))


class Encoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.item, self.colour = nn.Embedding(ITEMS, dim), nn.Embedding(COLOURS + 1, dim)
        self.attention = nn.ModuleList([SelfAttention(dim, 4) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])
        self.classify = nn.Linear(dim, COLOURS)

    def forward(self, x):
        h = self.item(x[..., 0]) + self.colour(x[..., 1])
        for attention, norm in zip(self.attention, self.norms):
            h = h + attention(norm(h))
        return self.classify(h[:, 0])


x, y = shelves(3400)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    order = torch.randperm(3000)
    total = 0.0
    for at in range(0, 3000, 100):
        b = order[at : at + 100]
        loss = F.cross_entropy(model(x[b]), y[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 30
    with torch.no_grad():
        right = (model(x[3000:]).argmax(1) == y[3000:]).float().mean().item()
    print(f"epoch {epoch} loss {total:.4f} right {right:.3f}")
