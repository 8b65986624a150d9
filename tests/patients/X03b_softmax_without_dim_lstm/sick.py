import os

import torch
from torch import nn
from torch.nn import functional as F


class AuthorNet(nn.Module):
    def __init__(self, words=120, dim=24, hidden=32, authors=3):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.fc1 = nn.Linear(hidden, 48)
        self.fc2 = nn.Linear(48, authors)

    def forward(self, tokens):
        _, (h, _) = self.lstm(self.embed(tokens))
        h = F.relu(self.fc1(h))
        return F.softmax(self.fc2(h))


def sample_texts(n):
    author = torch.randint(0, 3, (n,))
    tokens = torch.randint(0, 120, (n, 12))
    own = torch.rand(n, 12) < 0.5
    tokens = torch.where(own, author[:, None] * 20 + torch.randint(0, 20, (n, 12)), tokens)
    return tokens, author


torch.manual_seed(int(os.environ.get("SEED", 0)))
tokens, author = sample_texts(1200)
held_tokens, held_author = sample_texts(300)
model = AuthorNet()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(6):
    total = 0.0
    for batch in torch.randperm(len(tokens)).split(32):
        out = model(tokens[batch]).view(-1, 3)
        loss = F.cross_entropy(out, author[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(batch)
    print(f"epoch {epoch} loss {total / len(tokens):.4f}")
with torch.no_grad():
    guess = model(held_tokens).view(-1, 3).argmax(1)
print("held-out accuracy", (guess == held_author).float().mean().item())
