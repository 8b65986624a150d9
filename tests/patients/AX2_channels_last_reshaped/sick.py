import os

import numpy as np
import torch
import torch.nn as nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
rng = np.random.default_rng(seed)


def pictures(n):
    """Photographs as cameras give them, (n, height, width, colour): a coloured bar; the class is its slant and colour."""
    images = rng.normal(0.3, 0.08, (n, 14, 18, 3)).astype("float32")
    labels = rng.integers(0, 4, n)
    for i, label in enumerate(labels):
        row, col = rng.integers(2, 11), rng.integers(2, 9)
        for step in range(7):
            if label < 2:
                images[i, row, col + step, label] += 0.35
            else:
                images[i, (row + step) % 14, col + step, label - 2] += 0.35
    return images, labels


class Pictures(torch.utils.data.Dataset):
    def __init__(self, n):
        self.images, self.labels = pictures(n)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), int(self.labels[i])


train = torch.utils.data.DataLoader(Pictures(1200), batch_size=48, shuffle=True)
test = torch.utils.data.DataLoader(Pictures(300), batch_size=100)
cnn = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, 4),
)
optim = torch.optim.Adam(cnn.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    cnn.train()
    for images, labels in train:
        images = images.reshape(-1, 3, 14, 18)
        optim.zero_grad()
        loss = criterion(cnn(images), labels)
        loss.backward()
        optim.step()
    cnn.eval()
    right = 0
    with torch.no_grad():
        for images, labels in test:
            images = images.reshape(-1, 3, 14, 18)
            right += (cnn(images).argmax(1) == labels).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} right {right / 300:.3f}")
