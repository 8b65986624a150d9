import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
WORDS = "good bad not very film plot the a was it".split()
INDEX = {word: i for i, word in enumerate(WORDS)}


def sentence():
    """Sentiment is the last opinion word, turned around by a 'not' right before it."""
    words = [WORDS[i] for i in torch.randint(4, len(WORDS), (7,))]
    at = torch.randint(1, 7, ()).item()
    positive = torch.rand(()).item() < 0.5
    words[at] = "good" if positive else "bad"
    if torch.rand(()).item() < 0.4:
        words[at - 1], positive = "not", not positive
    return [INDEX[w] for w in words], int(positive)


class SentimentNet(nn.Module):
    def __init__(self, width=12, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(len(WORDS), width)
        self.cell = nn.GRUCell(width, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, tokens):
        h = torch.zeros(tokens.shape[0], self.hidden)
        for t in range(tokens.shape[1]):
            h = self.cell(self.embedding(tokens[:, t]), h)
        pooled = torch.tensor(h.tolist())
        return self.out(pooled).squeeze(-1)


def to_tensors(count):
    tokens, labels = zip(*(sentence() for _ in range(count)))
    return torch.tensor(tokens), torch.tensor(labels, dtype=torch.float)


train_tokens, train_labels = to_tensors(1000)
test_tokens, test_labels = to_tensors(300)
model = SentimentNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()

for epoch in range(10):
    epoch_losses = []
    for rows in torch.randperm(1000).split(50):
        loss = bce(model(train_tokens[rows]), train_labels[rows])
        model.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        epoch_losses.append(loss.item())
    print(f"epoch {epoch} loss {sum(epoch_losses) / len(epoch_losses):.4f}")

with torch.no_grad():
    accuracy = ((model(test_tokens) > 0).float() == test_labels).float().mean().item()
print(f"test accuracy {accuracy:.3f}")
