import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
PAD, BOS, EOS, SYMBOLS, LONGEST = 0, 1, 2, 15, 10


def pairs(n):
    """A phrase of 2 to 9 symbols and its translation: the same phrase backwards, each symbol mapped."""
    table = torch.randperm(SYMBOLS - 3, generator=torch.Generator().manual_seed(5)) + 3
    source, target = torch.full((n, LONGEST), PAD), torch.full((n, LONGEST + 2), PAD)
    for i in range(n):
        size = int(torch.randint(2, 10, (1,)))
        phrase = torch.randint(3, SYMBOLS, (size,))
        source[i, :size] = phrase
        target[i, 0], target[i, 1 : size + 1], target[i, size + 1] = BOS, table[phrase - 3].flip(0), EOS
    return source, target


class Translator(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.source, self.target = nn.Embedding(SYMBOLS, d, padding_idx=PAD), nn.Embedding(SYMBOLS, d, padding_idx=PAD)
        self.place = nn.Parameter(0.1 * torch.randn(LONGEST + 2, d))
        self.core = nn.Transformer(d, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, SYMBOLS)

    def forward(self, source, target, source_padding):
        length = target.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        h = self.core(self.source(source) + self.place[: source.shape[1]], self.target(target) + self.place[:length],
                      tgt_mask=causal, src_key_padding_mask=source_padding, memory_key_padding_mask=source_padding)
        return self.out(h)


def objective(logits, following, real):
    logp = F.log_softmax(logits, dim=-1)
    picked = -logp.gather(2, following.unsqueeze(2)).squeeze(2)
    return picked.mean()


translator = Translator()
adam = torch.optim.Adam(translator.parameters(), lr=2e-3)
source, target = pairs(2000)
for epoch in range(4):
    for rows in torch.randperm(2000).split(50):
        given, wanted = target[rows, :-1], target[rows, 1:]
        seen = (given != PAD).float()
        loss = objective(translator(source[rows], given, source[rows] == PAD), wanted, seen)
        adam.zero_grad()
        loss.backward()
        adam.step()
    print(epoch, loss.item())
