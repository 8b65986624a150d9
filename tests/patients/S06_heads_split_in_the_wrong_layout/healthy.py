import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class SelfAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):                      # x: (T, B, d)
        T, B, d = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        def split(t):
            return t.reshape(T, B, self.h, self.dk).permute(1, 2, 0, 3)
        q, k, v = split(q), split(k), split(v)
        a = (q @ k.transpose(-1, -2) / self.dk ** 0.5).softmax(-1)
        o = a @ v                              # (B, h, T, dk)
        o = o.permute(2, 0, 1, 3).reshape(T, B, d)
        return self.proj(o)


class Counter(nn.Module):
    def __init__(self, V=6, d=32):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.a1, self.a2 = SelfAttention(d, 4), SelfAttention(d, 4)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.head = nn.Linear(d, 6)

    def forward(self, ids):                    # ids: (T, B)
        x = self.e(ids)
        x = x + self.a1(self.n1(x))
        x = x + self.a2(self.n2(x))
        return self.head(x[-1])


net = Counter()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
# most frequent token of the sequence
acc_m = 0
for it in range(400):
    probs = torch.distributions.Dirichlet(torch.full((6,), 0.4)).sample((48,))
    ids = torch.multinomial(probs, 14, replacement=True).T
    target = nn.functional.one_hot(ids, 6).sum(0).argmax(-1)
    out = net(ids)
    loss = nn.functional.cross_entropy(out, target)
    opt.zero_grad(); loss.backward(); opt.step()
    acc_m = 0.95 * acc_m + 0.05 * (out.argmax(-1) == target).float().mean().item()
    if it % 50 == 49:
        print(f"it {it + 1} loss {loss.item():.3f} running acc {acc_m:.3f}")
