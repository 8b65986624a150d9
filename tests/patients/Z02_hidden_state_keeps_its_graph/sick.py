import os
import string

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))

TEXT = ("the rain in the plain falls mainly on the train and the crane, while the crew of the train complains; " * 60)
alphabet = sorted(set(TEXT) | set(string.ascii_lowercase))
codes = torch.tensor([alphabet.index(c) for c in TEXT])

CHUNK, STREAMS = 16, 8
streams = codes[: len(codes) // STREAMS * STREAMS].view(STREAMS, -1)


class CharRNN(nn.Module):
    def __init__(self, n_chars, n_hidden=48):
        super().__init__()
        self.encode = nn.Embedding(n_chars, 24)
        self.lstm = nn.LSTM(24, n_hidden, batch_first=True)
        self.decode = nn.Linear(n_hidden, n_chars)
        self.n_hidden = n_hidden

    def init_hidden(self, batch):
        return (torch.zeros(1, batch, self.n_hidden), torch.zeros(1, batch, self.n_hidden))

    def forward(self, chars, hidden):
        out, hidden = self.lstm(self.encode(chars), hidden)
        return self.decode(out), hidden


rnn = CharRNN(len(alphabet))
rate, clip = 2.0, 0.5
criterion = nn.CrossEntropyLoss()

hidden = rnn.init_hidden(STREAMS)
losses = []
for start in range(0, streams.shape[1] - CHUNK - 1, CHUNK):
    source = streams[:, start : start + CHUNK]
    target = streams[:, start + 1 : start + CHUNK + 1]
    logits, hidden = rnn(source, hidden)
    loss = criterion(logits.transpose(1, 2), target)
    rnn.zero_grad()
    loss.backward(retain_graph=True)
    nn.utils.clip_grad_norm_(rnn.parameters(), clip)
    for p in rnn.parameters():
        p.data.add_(p.grad, alpha=-rate)
    losses.append(loss.item())
    if len(losses) % 10 == 1:
        print(f"chunk {len(losses) - 1} loss {losses[-1]:.4f}")
print(f"chunks {len(losses)} first {losses[0]:.4f} last {losses[-1]:.4f}")
