import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    """Grey values 0..255, scaled to 0..1."""

    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float().unsqueeze(0) / 255
        return self.transform(image), int(self.labels[i])


def to_unit(image):
    return image / 255


torch.manual_seed(int(os.environ.get("SEED", 0)))
d = load_digits()
pixels = (d.images / 16 * 255).round()
split = torch.randperm(len(pixels)).numpy()
train = Pictures(pixels[split[:1100]], d.target[split[:1100]], to_unit)
test = Pictures(pixels[split[1100:]], d.target[split[1100:]], to_unit)
net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(12, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, 10))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
lossf = nn.CrossEntropyLoss()
for epoch in range(5):
    net.train()
    for image, label in DataLoader(train, batch_size=64, shuffle=True):
        loss = lossf(net(image), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    good = 0
    with torch.no_grad():
        for image, label in DataLoader(test, batch_size=128):
            good += (net(image).argmax(1) == label).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {good / len(test):.3f}")
