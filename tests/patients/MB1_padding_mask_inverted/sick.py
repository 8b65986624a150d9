import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
WORDS, LONGEST, WIDTH = 30, 10, 24


class Mood(nn.Module):
    """Are there more cheerful words (1..14) than gloomy ones (15..29) in the sentence? 0 pads."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.attend = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, 2)

    def forward(self, words):
        padded = words == 0
        h = self.embed(words)
        mixed, _ = self.attend(h, h, h, key_padding_mask=~padded)
        h = self.norm(h + mixed).masked_fill(padded.unsqueeze(-1), 0.0)
        return self.out(h.sum(1) / (~padded).sum(1, keepdim=True))


def sentences(n):
    words = torch.randint(1, WORDS, (n, LONGEST))
    length = torch.randint(3, LONGEST + 1, (n, 1))
    words[torch.arange(LONGEST) >= length] = 0
    cheerful, gloomy = ((words > 0) & (words < 15)).sum(1), (words >= 15).sum(1)
    return words, (cheerful > gloomy).long()


model = Mood()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(200):
    words, mood = sentences(64)
    loss = nn.functional.cross_entropy(model(words), mood)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step}: {loss.item():.3f}")

words, mood = sentences(500)
model.eval()
with torch.no_grad():
    print("accuracy", (model(words).argmax(1) == mood).float().mean().item())
