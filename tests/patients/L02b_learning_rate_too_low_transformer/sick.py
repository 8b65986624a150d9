import argparse
import os

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
parser.add_argument("--lr", type=float, default=1e-5)
parser.add_argument("--steps", type=int, default=220)
args = parser.parse_args()
torch.manual_seed(args.seed)

VOCAB, LENGTH, WIDTH = 8, 20, 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, h, mask):
        q = self.norm1(h)
        h = h + self.attention(q, q, q, attn_mask=mask, need_weights=False)[0]
        return h + self.mlp(self.norm2(h))


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCAB, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.block = Block()
        self.unembed = nn.Linear(WIDTH, VOCAB)
        self.register_buffer("mask", torch.ones(LENGTH, LENGTH).triu(1).bool())

    def forward(self, tokens):
        t = tokens.shape[1]
        h = self.token(tokens) + self.place(torch.arange(t))
        return self.unembed(self.block(h, self.mask[:t, :t]))


def counting(n):
    start, stride = torch.randint(VOCAB, (n, 1)), torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(LENGTH + 1)) % VOCAB


lm = LanguageModel()
decay = [p for p in lm.parameters() if p.dim() > 1]
rest = [p for p in lm.parameters() if p.dim() <= 1]
optimizer = torch.optim.SGD([{"params": decay, "weight_decay": 1e-4}, {"params": rest}], lr=args.lr, momentum=0.9)
for step in range(args.steps):
    series = counting(32)
    logits = lm(series[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, VOCAB), series[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0 or step == args.steps - 1:
        print(f"step {step:3d}  loss {loss.item():.4f}")
series = counting(200)
with torch.no_grad():
    hits = lm(series[:, :-1]).argmax(-1) == series[:, 1:]
print(f"next-symbol accuracy {hits.float().mean().item():.3f}")
