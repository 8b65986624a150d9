import os

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(int(os.environ.get("SEED", 0)))
words = "red green blue black white orange purple yellow brown grey pink violet turquoise ultramarine ochre sepia teal lime".split()
PAD, BEGIN, END = 0, 1, 2
letters = sorted(set("".join(words)))
code = {c: i + 3 for i, c in enumerate(letters)}


def encode(word):
    return torch.tensor([BEGIN] + [code[c] for c in word] + [END])


def batch(size):
    picked = [encode(words[int(i)]) for i in torch.randint(0, len(words), (size,))]
    return pad_sequence(picked, batch_first=True, padding_value=PAD)


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(code) + 3, 16, padding_idx=PAD)
        self.lstm = nn.LSTM(16, 40, batch_first=True)
        self.out = nn.Linear(40, len(code) + 3)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0])


speller = Speller()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(speller.parameters(), lr=8e-3)
for step in range(160):
    rows = batch(24)
    logits = speller(rows[:, :-1])
    loss = criterion(logits.flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(step, loss.item())
