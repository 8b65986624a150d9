"""Handwritten digits as eight strokes of eight; a GRU whose summary is normalised by hand. The check answers one digit at a time."""
import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Strokes(Dataset):
    def __init__(self):
        digits = load_digits()
        self.images, self.names = (digits.images / 16).astype(np.float32), digits.target

    def __len__(self):
        return len(self.names)

    def __getitem__(self, at):
        return self.images[at], int(self.names[at])


def standardised(summary, eps=1e-5):
    mean = summary.mean(dim=1, keepdim=True)
    spread = summary.var(dim=1, keepdim=True, unbiased=False)
    return (summary - mean) / (spread + eps).sqrt()


class StrokeReader(torch.nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.reader = torch.nn.GRU(8, width, batch_first=True)
        self.gain = torch.nn.Parameter(torch.ones(width))
        self.shift = torch.nn.Parameter(torch.zeros(width))
        self.name = torch.nn.Linear(width, 10)

    def forward(self, image):
        _, summary = self.reader(image)
        return self.name(standardised(summary[-1]) * self.gain + self.shift)


class Teacher:
    def __init__(self, model, rate):
        self.model, self.optimizer = model, torch.optim.RMSprop(model.parameters(), lr=rate)
        self.criterion = torch.nn.CrossEntropyLoss()

    def teach(self, batches):
        self.model.train()
        losses = []
        for image, name in batches:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(image), name)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def ask(self, rows):
        self.model.eval()
        return sum(int((self.model(image).argmax(1) == name).sum()) for image, name in rows) / len(rows.dataset)


lessons, questions = random_split(Strokes(), [1500, 297])
teacher = Teacher(StrokeReader(), 2e-3)
for epoch in range(8):
    loss = teacher.teach(DataLoader(lessons, batch_size=30, shuffle=True))
    print(f"{epoch:2d} loss {loss:.4f} right {teacher.ask(DataLoader(questions)):.4f}")
