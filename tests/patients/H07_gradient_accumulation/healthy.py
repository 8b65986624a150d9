import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUM = 8


class Trainer:
    def __init__(self, model, train, val, lr=0.2, epochs=25):
        self.model, self.epochs = model, epochs
        self.train_loader = DataLoader(train, batch_size=8, shuffle=True, drop_last=True)
        self.val_loader = DataLoader(val, batch_size=128)
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)
        self.criterion = nn.CrossEntropyLoss()

    def run_epoch(self):
        self.model.train()
        total = 0.0
        self.opt.zero_grad()
        usable = len(self.train_loader) // ACCUM * ACCUM
        for i, (x, y) in enumerate(self.train_loader):
            if i >= usable:
                break
            loss = self.criterion(self.model(x), y) / ACCUM
            loss.backward()
            total += loss.item() * ACCUM
            if (i + 1) % ACCUM == 0:
                self.opt.step()
                self.opt.zero_grad()
        return total / usable

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        ok = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val_loader)
        return ok / len(self.val_loader.dataset)

    def fit(self):
        for epoch in range(self.epochs):
            loss = self.run_epoch()
            if epoch % 4 == 0:
                print(f"epoch {epoch} loss {loss:.4f} val {self.evaluate():.3f}")
        print("final val accuracy", self.evaluate())


if __name__ == "__main__":
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    d = load_digits()
    ds = TensorDataset(torch.from_numpy(d.data).float() / 16, torch.from_numpy(d.target))
    tr, va = torch.utils.data.random_split(ds, [1200, len(ds) - 1200])
    Trainer(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), tr, va).fit()
