import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


def melodies(count, length):
    """Notes that go up or down a scale of 12 by the rule of the previous two, with rare jumps."""
    notes = torch.randint(0, 12, (count, length))
    for t in range(2, length):
        step = torch.where(notes[:, t - 1] > notes[:, t - 2], 1, -1)
        jump = torch.rand(count) < 0.1
        notes[:, t] = torch.where(jump, notes[:, t], (notes[:, t - 1] + step) % 12)
    return notes


notes = melodies(1200, 25)
train = DataLoader(TensorDataset(notes[:1000]), batch_size=50, shuffle=True)
held = notes[1000:]


class Composer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 16)
        self.rnn = nn.GRU(16, 48, batch_first=True)
        self.next_note = nn.Linear(48, 12)

    def forward(self, notes):
        states, _ = self.rnn(self.embed(notes))
        return self.next_note(states)


net = Composer()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def score(batch):
    logits = net(batch[:, :-1])
    return loss_fn(logits.reshape(-1, 12), batch[:, 1:].reshape(-1))


for epoch in range(6):
    net.train()
    total = 0.0
    for (batch,) in train:
        opt.zero_grad()
        loss = score(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        total += loss.item() / len(train)
    net.eval()
    with torch.no_grad():
        print(f"epoch {epoch} train {total:.4f} held out {score(held).item():.4f}")
