import os

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    """Sequences of 5 to 20 steps; the class is the direction of the slope."""

    def __init__(self, n, gen):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(5, 21, (1,), generator=gen))
            slope = float(torch.randint(0, 2, (1,), generator=gen)) * 2 - 1
            base = slope * torch.linspace(-1, 1, length)
            seq = base + 0.5 * torch.randn(length, generator=gen)
            self.items.append((seq.unsqueeze(1), int(slope > 0)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return {"x": pad_sequence(seqs, batch_first=True), "len": lengths, "y": torch.tensor(labels)}


class GRUClassifier(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.fc(h[-1])


def evaluate(model, loader):
    model.eval()
    good = total = 0
    with torch.no_grad():
        for b in loader:
            good += (model(b["x"], b["len"]).argmax(1) == b["y"]).sum().item()
            total += len(b["y"])
    return good / total


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    train = DataLoader(Waves(800, gen), batch_size=32, shuffle=True, collate_fn=collate)
    val = DataLoader(Waves(300, gen), batch_size=100, collate_fn=collate)
    model = GRUClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        model.train()
        losses = []
        for b in train:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(b["x"], b["len"]), b["y"])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            losses.append(loss.item())
        if epoch == 0:
            print(f"first loss {losses[0]:.4f}")
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val {evaluate(model, val):.3f}")
    print("val accuracy", evaluate(model, val))


if __name__ == "__main__":
    main()
