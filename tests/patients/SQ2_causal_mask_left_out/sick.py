import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
corpus = (
    "all happy families are alike but every unhappy family is unhappy in its own way "
    "everything was in confusion in the house the wife had discovered that the husband was carrying on "
) * 10
letters = sorted(set(corpus))
index = {c: i for i, c in enumerate(letters)}
data = torch.tensor([index[c] for c in corpus])
CONTEXT = 20


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 3 * width), nn.ReLU(), nn.Linear(3 * width, width))

    def forward(self, x):
        h = self.norm1(x)
        h, _ = self.attention(h, h, h, need_weights=False)
        x = x + h
        return x + self.feed(self.norm2(x))


class Writer(nn.Module):
    def __init__(self, symbols, width=32):
        super().__init__()
        self.symbol = nn.Embedding(symbols, width)
        self.place = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        self.blocks = nn.ModuleList([Block(width, 4), Block(width, 4)])
        self.out = nn.Linear(width, symbols)

    def forward(self, tokens):
        x = self.symbol(tokens) + self.place[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def draw(count):
    starts = torch.randint(0, len(data) - CONTEXT - 1, (count,))
    rows = torch.stack([data[s : s + CONTEXT + 1] for s in starts])
    return rows[:, :-1], rows[:, 1:]


class Trainer:
    def __init__(self):
        self.model = Writer(len(letters))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)

    def fit(self, steps):
        for step in range(steps):
            tokens, following = draw(16)
            logits = self.model(tokens)
            loss = F.cross_entropy(logits.transpose(1, 2), following)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 60 == 0 or step == steps - 1:
                right = (logits.argmax(-1) == following).float().mean().item()
                print(f"step {step} loss {loss.item():.4f} right {right:.3f}")

    @torch.no_grad()
    def write(self, prompt, count):
        self.model.eval()
        tokens = torch.tensor([[index[c] for c in prompt]])
        for _ in range(count):
            following = self.model(tokens[:, -CONTEXT:])[0, -1].argmax()
            tokens = torch.cat([tokens, following.view(1, 1)], 1)
        return "".join(letters[t] for t in tokens[0].tolist())


trainer = Trainer()
trainer.fit(150)
text = trainer.write("every unhappy family", 30)
print("wrote:", text)
print("share of three-letter runs that occur in the corpus", sum(text[i : i + 3] in corpus for i in range(18, len(text) - 2)) / (len(text) - 20))
