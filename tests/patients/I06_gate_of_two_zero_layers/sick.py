# Two "languages" of digits: upright, and written as a negative. A small gate bends the shared features.
import os
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

SEED = int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)
np.random.seed(SEED)


class LanguageGate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(d, d, bias=False), nn.ReLU(), nn.Linear(d, d, bias=False), nn.Tanh())
        for lin in (self.gate[0], self.gate[2]):
            nn.init.zeros_(lin.weight)  # start as the identity

    def forward(self, h):
        return h + self.gate(h)


class Reader(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.shared = nn.Linear(64, d)
        self.norm = nn.LayerNorm(d)
        self.language = LanguageGate(d)
        self.out = nn.Linear(d, 10)

    def forward(self, pixels):
        h = F.relu(self.norm(self.shared(pixels)))
        return self.out(self.language(h))


raw = load_digits()
px, lab = raw.data.astype("float32") / 16, raw.target
neg = np.random.rand(len(px)) < 0.5
px[neg] = 1 - px[neg]
order = np.random.permutation(len(px))
px, lab = torch.from_numpy(px[order]), torch.from_numpy(lab[order])
xtr, ytr, xte, yte = px[:1300], lab[:1300], px[1300:], lab[1300:]

net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for ep in range(1, 21):
    net.train()
    tot = 0.
    for ix in torch.randperm(1300).split(65):
        opt.zero_grad()
        l = F.cross_entropy(net(xtr[ix]), ytr[ix])
        l.backward()
        opt.step()
        tot += l.item()
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(-1) == yte).float().mean().item()
        size = net.language.gate(F.relu(net.norm(net.shared(xte)))).abs().mean().item()
    print("ep %2d  loss %.4f  acc %.4f  gate size %.4f" % (ep, tot / 20, acc, size))
