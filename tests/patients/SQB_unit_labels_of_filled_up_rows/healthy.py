"""Which numbers of a cooking note are grams, which are minutes? A convolution reads words around each; notes differ much in length."""
import os
import random

import torch
import torch.nn.functional as F
from torch import nn

SEED = int(os.environ.get("SEED", 0))
WORDS = ["_"] + [str(n) for n in range(5, 65, 5)] + "g grams of flour sugar butter bake boil rest for min minutes then add stir the a until golden well".split()
CODE = {word: at for at, word in enumerate(WORDS)}
NUMBERS, TALK = WORDS[1:13], WORDS[WORDS.index("then"):]
OTHER, GRAMS, MINUTES, IGNORED = 0, 1, 2, -1


def note(rng):
    words, kinds = [], []
    for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 1, 20))):
        talk = rng.choices(TALK, k=rng.randint(1, 4))
        number = rng.choice(NUMBERS)
        if rng.random() < 0.5:
            part, kind = [number, rng.choice(("g", "grams")), "of", rng.choice(("flour", "sugar", "butter"))], [GRAMS, 0, 0, 0]
        else:
            part, kind = [rng.choice(("bake", "boil", "rest")), "for", number, rng.choice(("min", "minutes"))], [0, 0, MINUTES, 0]
        words += talk + part
        kinds += [OTHER] * len(talk) + kind
    return [CODE[w] for w in words], kinds


def batches(notes, size, rng=None):
    notes = rng.sample(notes, len(notes)) if rng else notes
    for start in range(0, len(notes), size):
        part = notes[start:start + size]
        longest = max(len(words) for words, _ in part)
        words = torch.tensor([w + [0] * (longest - len(w)) for w, _ in part])
        kinds = torch.tensor([k + [IGNORED] * (longest - len(k)) for _, k in part])
        yield words, kinds, (words > 0).float()


class Around(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.word = nn.Embedding(len(WORDS), width)
        self.near = nn.Conv1d(width, 24, 3, padding=1)
        self.kind = nn.Conv1d(24, 3, 1)

    def forward(self, words, there):
        x = self.word(words).transpose(1, 2) * there.unsqueeze(1)
        return self.kind(F.relu(self.near(x)) * there.unsqueeze(1))


def found(model, notes):
    right = wanted = 0
    with torch.no_grad():
        for words, kinds, there in batches(notes, 64):
            guess = model(words, there).argmax(1)
            numbers = kinds > 0
            right += int((guess == kinds)[numbers].sum())
            wanted += int(numbers.sum())
    return right / wanted


rng = random.Random(SEED)
torch.manual_seed(SEED)
train, new = [note(rng) for _ in range(640)], [note(rng) for _ in range(200)]
model = Around()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    losses = []
    for words, kinds, there in batches(train, 16, rng):
        loss = F.cross_entropy(model(words, there), kinds, ignore_index=IGNORED)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} numbers named {found(model, new):.4f}")
