import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
VOCAB, LEN, N = 3000, 12, 1500
sentiment = torch.zeros(VOCAB)
sentiment[:60] = 1.0
sentiment[60:120] = -1.0


def documents(n):
    docs = torch.randint(120, VOCAB, (n, LEN))
    label = torch.randint(0, 2, (n,))
    words = torch.randint(0, 60, (n, 4))
    words = words + 60 * (1 - label)[:, None]
    docs[:, :4] = words
    cols = torch.rand(n, LEN).argsort(1)
    return docs.gather(1, cols), label


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(VOCAB, 16, mode="mean")
        self.fc = nn.Linear(16, 2)

    def forward(self, ids):
        return self.fc(self.bag(ids))


docs, labels = documents(N)
vdocs, vlabels = documents(500)
model = BagOfWords()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(400):
    i = torch.randint(0, N, (16,))
    loss = nn.functional.cross_entropy(model(docs[i]), labels[i])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0 or step == 399:
        print("step", step, "loss", round(loss.item(), 4))
with torch.no_grad():
    print("val acc", (model(vdocs).argmax(1) == vlabels).float().mean().item())
