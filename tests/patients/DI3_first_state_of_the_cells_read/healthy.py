"""Which of three letters comes most often in a short string? A GRU cell walks along it."""

import os

import torch
import torch.nn.functional as F

SEED = int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)


def strings(count):
    kind = torch.randint(3, (count,))
    letters = torch.randint(8, (count, 14))
    places = torch.rand(count, 14) < 0.45
    places[:, 0] = False
    return torch.where(places, kind[:, None], letters), kind


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = torch.nn.Embedding(8, 16)
        self.cell = torch.nn.GRUCell(16, 32)
        self.head = torch.nn.Linear(32, 3)

    def forward(self, text):
        state, seen = torch.zeros(len(text), 32), []
        for letter in self.letters(text).unbind(1):
            state = self.cell(letter, state)
            seen.append(state)
        seen = torch.stack(seen, 1)
        return self.head(seen.select(1, -1))


def main():
    text, kind = strings(1200)
    held_text, held_kind = strings(400)
    reader = Reader()
    optimizer = torch.optim.AdamW(reader.parameters(), lr=4e-3)
    for epoch in range(8):
        for rows in torch.randperm(len(text)).split(40):
            loss = F.cross_entropy(reader(text[rows]), kind[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            right = (reader(held_text).argmax(1) == held_kind).float().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {right:.4f}")


main()
