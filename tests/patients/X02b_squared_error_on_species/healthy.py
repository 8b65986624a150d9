import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DigitReader(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Linear(8 * 16, outputs)

    def forward(self, image):
        return self.head(self.features(image))


class Fit:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def error(self, out, label):
        return nn.functional.cross_entropy(out, label)

    def epoch(self, loader):
        for image, label in loader:
            loss = self.error(self.model(image), label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)
fit = Fit(DigitReader(10))
loader = DataLoader(TensorDataset(images[:1400], labels[:1400]), batch_size=50, shuffle=True)
for n in range(12):
    print("epoch", n, "loss", round(fit.epoch(loader), 4))
with torch.no_grad():
    out = fit.model(images[1400:])
guess = out.argmax(1) if out.shape[1] > 1 else out[:, 0].round().long()
print("test accuracy", (guess == labels[1400:]).float().mean().item())
