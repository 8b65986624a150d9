"""Which of four topics? A sequence of ids has a few telling ones among common ones; a GRU pooled by additive attention."""
import os

import torch
import torch.nn.functional as F
from torch import nn

SEED = int(os.environ.get("SEED", 0))
IDS, LENGTH, TOPICS, BATCH = 120, 18, 4, 36


def texts(count, source):
    topic = torch.randint(TOPICS, (count,), generator=source)
    ids = torch.randint(40, IDS, (count, LENGTH), generator=source)
    for row in range(count):
        at = torch.randperm(LENGTH, generator=source)[:2]
        ids[row, at] = topic[row] * 10 + torch.randint(10, (2,), generator=source)
        other = torch.randperm(LENGTH, generator=source)[:1]
        if other not in at:
            ids[row, other] = torch.randint(40, (1,), generator=source)
    return ids, topic


class Reader(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.look_up = nn.Embedding(IDS, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.query = nn.Parameter(torch.randn(width) * 0.2)
        self.key = nn.Linear(width, width)
        self.topic = nn.Linear(width, TOPICS)

    def forward(self, ids):
        states, _ = self.gru(self.look_up(ids))
        match = torch.tanh(self.key(states)) @ self.query
        weights = torch.softmax(match, 1)
        return self.topic(torch.bmm(weights.unsqueeze(1), states).squeeze(1))


def run_epoch(reader, ids, topic, optimizer=None):
    order = torch.randperm(len(ids)) if optimizer else torch.arange(len(ids))
    total = hits = 0
    for rows in order.split(BATCH):
        logits = reader(ids[rows])
        loss = F.cross_entropy(logits, topic[rows])
        if optimizer:
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        total += loss.item() * len(rows)
        hits += int((logits.argmax(-1) == topic[rows]).sum())
    return total / len(ids), hits / len(ids)


torch.manual_seed(SEED)
source = torch.Generator().manual_seed(SEED + 1)
train, test = texts(1080, source), texts(360, source)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=4e-3)
for epoch in range(10):
    loss, hit = run_epoch(reader, *train, optimizer)
    reader.eval()
    with torch.inference_mode():
        _, new = run_epoch(reader, *test)
    reader.train()
    print(f"epoch {epoch}: loss {loss:.4f} train {hit:.4f} test {new:.4f}")
