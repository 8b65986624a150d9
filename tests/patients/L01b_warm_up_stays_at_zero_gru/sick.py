import os
import random

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

seed = int(os.environ.get("SEED", 0))
random.seed(seed)
torch.manual_seed(seed)

WARMUP_STEPS, TOTAL_STEPS = 500, 350


class Reader(nn.Module):
    def __init__(self, symbols=6, width=24):
        super().__init__()
        self.emb = nn.Embedding(symbols, width)
        self.rnn = nn.GRU(width, 32, batch_first=True)
        self.cls = nn.Linear(32, 2)

    def forward(self, seq):
        _, last = self.rnn(self.emb(seq))
        return self.cls(last[0])


def make_batch(n=48, length=14):
    """Is there a 1 somewhere after the first 0?"""
    seqs = [[random.randrange(6) for _ in range(length)] for _ in range(n)]
    label = [int(0 in s and 1 in s[s.index(0):]) for s in seqs]
    return torch.tensor(seqs), torch.tensor(label)


def warmup(step):
    return min(1, (step + 1) // WARMUP_STEPS)


net = Reader()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-2)
scheduler = LambdaLR(optimizer, warmup)

history = []
for step in range(TOTAL_STEPS):
    seq, label = make_batch()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(seq), label)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    history.append(loss.item())
    if step % 70 == 69:
        print("step", step + 1, "loss", round(sum(history[-20:]) / 20, 4))

with torch.no_grad():
    seq, label = make_batch(600)
    print("accuracy", round((net(seq).argmax(1) == label).float().mean().item(), 3))
