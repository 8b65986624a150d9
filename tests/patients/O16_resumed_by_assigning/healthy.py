import os
import tempfile
from pathlib import Path

import torch
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
VOCAB, LENGTH = 20, 16


class Encoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(LENGTH, d)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(d, 2)

    def forward(self, ids):
        h = self.tok(ids) + self.pos(torch.arange(LENGTH))
        return self.out(self.layers(h).mean(1))


def sample(n, gen):
    ids = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    labels = ((ids < 7).sum(1) > ((ids >= 13).sum(1))).long()
    return ids, labels


def fit(net, opt, data, steps, gen, tag):
    ids, labels = data
    net.train()
    running = []
    for step in range(1, steps + 1):
        pick = torch.randint(0, len(ids), (64,), generator=gen)
        loss = nn.functional.cross_entropy(net(ids[pick]), labels[pick])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        running.append(loss.item())
        if step % 50 == 0:
            print(f"{tag} step {step} loss {sum(running[-50:]) / 50:.3f}")


def accuracy(net, data):
    net.eval()
    with torch.no_grad():
        return (net(data[0]).argmax(1) == data[1]).float().mean().item()


torch.manual_seed(SEED)
gen = torch.Generator().manual_seed(SEED)
train, test = sample(2000, gen), sample(500, gen)

with tempfile.TemporaryDirectory() as folder:
    ckpt = Path(folder) / "stage1.pt"
    first = Encoder()
    fit(first, torch.optim.AdamW(first.parameters(), lr=3e-4), train, 5, gen, "stage1")
    torch.save({"model": first.state_dict()}, ckpt)

    net = Encoder()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    state = torch.load(ckpt)
    net.load_state_dict(state["model"])
    print(f"resumed, test acc {accuracy(net, test):.3f}")
    fit(net, opt, train, 300, gen, "stage2")
    print(f"final test acc {accuracy(net, test):.3f}")
