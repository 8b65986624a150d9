import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get('SEED', 0)))

# a made-up language of 24 letters: each letter is followed by one of five others
n_vocab, n_ctx, n_embd, n_head, n_layer = 24, 16, 64, 2, 2
follow = torch.stack([torch.randperm(n_vocab)[:5] for _ in range(n_vocab)])
stream = [0]
for _ in range(20000):
    stream.append(follow[stream[-1], torch.randint(0, 5, ())].item())
stream = torch.tensor(stream)


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer('tril', torch.tril(torch.ones(n_ctx, n_ctx)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        att = q @ k.transpose(-2, -1)
        att = att.masked_fill(self.tril[:T, :T] == 0, float('-inf'))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(n_vocab, n_embd), nn.Embedding(n_ctx, n_embd)
        self.h = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, n_vocab, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        logits = self.lm_head(self.ln_f(self.h(x)))
        return logits, F.cross_entropy(logits.view(-1, n_vocab), targets.view(-1))


def get_batch(split):
    lo, hi = (0, 18000) if split == 'train' else (18000, len(stream) - n_ctx - 1)
    ix = torch.randint(lo, hi - n_ctx - 1, (32,))
    return torch.stack([stream[i:i + n_ctx] for i in ix]), torch.stack([stream[i + 1:i + 1 + n_ctx] for i in ix])


gpt = GPT()
optimizer = torch.optim.Adam(gpt.parameters(), lr=1e-2)
print(f'entropy of the language {math.log(5):.3f}')
for it in range(600):
    gpt.train()
    _, loss = gpt(*get_batch('train'))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 100 == 99:
        gpt.eval()
        with torch.no_grad():
            val = sum(gpt(*get_batch('val'))[1].item() for _ in range(4)) / 4
        print(f'iter {it + 1} train {loss.item():.3f} val {val:.3f}')
