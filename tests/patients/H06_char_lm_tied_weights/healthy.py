import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
text = (
    "the quick brown fox jumps over the lazy dog while the small grey cat sleeps near the warm stove. "
    "a cold wind blows over the hills and the old man walks slowly home with his dog. "
) * 20
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharLM(nn.Module):
    def __init__(self, vocab, dim=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        nn.init.normal_(self.emb.weight, std=0.1)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.emb.weight

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


model = CharLM(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
T = 32
for step in range(250):
    start = torch.randint(0, len(data) - T - 1, (16,))
    seq = torch.stack([data[s : s + T + 1] for s in start.tolist()])
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, len(chars)), seq[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0 or step == 249:
        print(f"step {step} loss {loss.item():.3f}")
print("perplexity", torch.exp(loss).item())
