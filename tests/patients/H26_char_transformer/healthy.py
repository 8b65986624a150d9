import math
import os

import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
text = (
    "to be or not to be that is the question whether tis nobler in the mind to suffer "
    "the slings and arrows of outrageous fortune or to take arms against a sea of troubles "
) * 12
vocab = sorted(set(text))
ids = torch.tensor([vocab.index(c) for c in text])
block, batch = 24, 12


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).bool())

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(D // self.heads)
        att = att.masked_fill(~self.mask[:T, :T], float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(B, T, D))


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = Attention(d, heads)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.att(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, v, d=32, heads=4, layers=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(block, d)
        self.layers = nn.Sequential(*[Layer(d, heads) for _ in range(layers)])
        self.ln, self.head = nn.LayerNorm(d), nn.Linear(d, v, bias=False)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        return self.head(self.ln(self.layers(x)))


model = GPT(len(vocab))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(300):
    s = torch.randint(0, len(ids) - block - 1, (batch,)).tolist()
    x = torch.stack([ids[i : i + block] for i in s])
    y = torch.stack([ids[i + 1 : i + block + 1] for i in s])
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 50 == 0 or it == 299:
        print(f"iter {it}: loss {loss.item():.4f}")
print("accuracy of the next character", (logits.argmax(-1) == y).float().mean().item())
