"""A tagger over frozen word vectors. Frozen zeros that are meant: the padding row, a start state, position codes, a bias; other zeros train."""
import os

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(os.environ.get("SEED", "0")))
WORDS, DIM, LENGTH, TAGS = 60, 24, 12, 4
vectors = torch.randn(WORDS, DIM)
vectors[0] = 0.0  # padding
meaning = torch.randint(0, TAGS, (WORDS,))


def sentences(n):
    words = torch.randint(1, WORDS, (n, LENGTH))
    lengths = torch.randint(5, LENGTH + 1, (n, 1))
    padding = torch.arange(LENGTH) >= lengths
    before = torch.cat([torch.zeros(n, 1, dtype=torch.long), words[:, :-1]], 1)
    tags = (meaning[words] + meaning[before]) % TAGS
    return words.masked_fill(padding, 0), tags.masked_fill(padding, -100)


class Gated(nn.Module):
    """A residual branch whose last layer begins at zero; its bias stays there."""

    def __init__(self, width):
        super().__init__()
        self.into, self.out = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.out.bias.requires_grad = False

    def forward(self, x):
        return x + self.out(F.gelu(self.into(x)))


class Tagger(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.vectors = nn.Embedding.from_pretrained(vectors, freeze=True, padding_idx=0)
        self.position = nn.Parameter(torch.zeros(LENGTH, DIM), requires_grad=False)  # switched off: the order comes from the recurrence
        self.start = nn.Parameter(torch.zeros(1, width), requires_grad=False)
        self.inputs, self.state = nn.Linear(DIM, width), nn.Parameter(torch.empty(width, width))
        nn.init.orthogonal_(self.state)
        self.gated = Gated(width)
        self.register_buffer("shift", torch.zeros(width))
        self.tags = nn.Linear(width, TAGS)
        nn.init.zeros_(self.tags.weight)

    def forward(self, words):
        x = self.inputs(self.vectors(words) + self.position) + self.shift
        h, seen = self.start, []
        for t in range(words.shape[1]):
            h = torch.tanh(x[:, t] + h @ self.state)
            seen.append(h)
        return self.tags(self.gated(torch.stack(seen, 1)))


tagger = Tagger()
optimizer = torch.optim.Adam([p for p in tagger.parameters() if p.requires_grad], lr=2e-3)
test_words, test_tags = sentences(500)
for step in range(1, 601):
    words, tags = sentences(48)
    loss = F.cross_entropy(tagger(words).flatten(0, 1), tags.flatten(), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        with torch.no_grad():
            said, real = tagger(test_words).argmax(-1), test_tags >= 0
        print(f"step {step} loss {loss.item():.4f} right on test {(said == test_tags)[real].float().mean():.3f}")
