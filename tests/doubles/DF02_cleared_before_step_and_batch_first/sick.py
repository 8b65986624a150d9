import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_sequences(n, length=12, channels=4):
    x = torch.randn(n, length, channels)
    early = x[:, : length // 2, 0].sum(1)
    y = (early > 0).long()
    return TensorDataset(x, y)


class SequenceClassifier(nn.Module):
    def __init__(self, channels=4, hidden=32, classes=2):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    train_loader = DataLoader(make_sequences(1000), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_sequences(300), batch_size=100)
    model = SequenceClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(10):
        model.train()
        running = 0.0
        for x, y in train_loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.zero_grad()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}  loss {running / len(train_loader):.4f}  val {evaluate(model, val_loader):.3f}")
    print("val accuracy", evaluate(model, val_loader))


if __name__ == "__main__":
    main()
