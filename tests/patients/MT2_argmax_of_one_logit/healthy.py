import os

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EvenOrOdd(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 16, 1)

    def forward(self, image):
        h = F.max_pool2d(F.relu(self.conv(image)), 2)
        return self.fc(h.flatten(1))


class Runner:
    def __init__(self, train_set, test_set):
        self.net = EvenOrOdd()
        self.optim = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
        self.test_loader = DataLoader(test_set, batch_size=100)

    def predict(self, logits):
        return (logits > 0).long()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.net.train()
            for image, parity in self.train_loader:
                loss = F.binary_cross_entropy_with_logits(self.net(image), parity)
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            print(f"epoch {epoch}: loss {loss.item():.4f}, test accuracy {self.test():.4f}")

    @torch.no_grad()
    def test(self):
        self.net.eval()
        hits = []
        for image, parity in self.test_loader:
            hits.append((self.predict(self.net(image)) == parity.long()).float().mean().item())
        return float(np.mean(hits))


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
images = torch.from_numpy(digits.images).float()[:, None] / 16
parity = torch.from_numpy(digits.target % 2).float()[:, None]
order = torch.randperm(len(images))
split = lambda rows: TensorDataset(images[rows], parity[rows])
runner = Runner(split(order[:1300]), split(order[1300:]))
runner.fit(8)
print(f"final test accuracy {runner.test():.4f}")
