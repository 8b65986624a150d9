import os
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.A.t() @ self.B.t()) * self.scale


class Encoder(nn.Module):
    def __init__(self, vocab=20, d=48, T=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.randn(T, d) * 0.1)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.ff1, self.ff2 = nn.Linear(d, 96), nn.Linear(96, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.head = nn.Linear(d, 2)

    def forward(self, ids):
        x = self.emb(ids) + self.pos
        h = self.n1(x)
        x = x + self.o(F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h)))
        x = x + self.ff2(F.gelu(self.ff1(self.n2(x))))
        return self.head(x.mean(1))


def batch(n, a, b):
    """label 1 if symbol a occurs more often than symbol b"""
    ids = torch.randint(0, 20, (n, 12))
    m = torch.rand(n, 12)
    ids = torch.where(m < 0.25, torch.full_like(ids, a), torch.where(m > 0.75, torch.full_like(ids, b), ids))
    return ids, ((ids == a).sum(1) > (ids == b).sum(1)).long()


def fit(net, steps, lr, a, b, tag, params):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    xv, yv = batch(1000, a, b)
    for s in range(1, steps + 1):
        x, y = batch(64, a, b)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % (steps // 6) == 0:
            with torch.no_grad():
                print(f"{tag} {s} loss {loss.item():.4f} acc {(net(xv).argmax(1) == yv).float().mean():.3f}")


torch.manual_seed(int(os.environ.get("SEED", "0")))
net = Encoder()
fit(net, 120, 2e-3, 3, 7, "pretrain", net.parameters())
for p in net.parameters():
    p.requires_grad_(False)
for name in ("q", "v", "o", "ff1", "ff2"):
    setattr(net, name, LoRALinear(getattr(net, name)))
trainable = [p for p in net.parameters() if p.requires_grad]
print("trainable", sum(p.numel() for p in trainable), "of", sum(p.numel() for p in net.parameters()))
fit(net, 300, 2e-3, 11, 3, "adapt", trainable)
