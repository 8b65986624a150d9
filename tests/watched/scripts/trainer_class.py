import argparse
import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 36, 3)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


class Trainer:
    def __init__(self, rate):
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
            self.scheduler.step()
            self.model.eval()
            with torch.no_grad():
                right = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
            print(f"epoch {epoch} loss {loss.item():.6f} right {right}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(96, 1, 8, 8), torch.randint(0, 3, (96,)))
    trainer = Trainer(0.05)
    trainer.fit(DataLoader(data, batch_size=16, shuffle=True, num_workers=2), options.epochs)
    torch.save(trainer.model.state_dict(), os.environ["WEIGHTS"])
    sys.exit(3)


if __name__ == "__main__":
    main()
