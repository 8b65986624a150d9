import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
np.random.seed(seed)


class DigitSet(Dataset):
    def __init__(self):
        self.images, self.labels = load_digits(return_X_y=True)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"image": torch.tensor(self.images[i] / 16, dtype=torch.float32), "label": int(self.labels[i])}


class Classifier(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, outputs)

    def forward(self, image):
        return self.head(self.backbone(image))


model = Classifier(outputs=1000)
for p in model.backbone.parameters():
    p.requires_grad = False
model.head = nn.Linear(256, 10)
optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)

data, order = DigitSet(), np.random.permutation(1797)
train_loader = DataLoader(Subset(data, order[:1200]), batch_size=64, shuffle=True)
test_loader = DataLoader(Subset(data, order[1200:]), batch_size=200)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    for k, batch in enumerate(train_loader):
        model.zero_grad()
        loss = criterion(model(batch["image"]), batch["label"])
        loss.backward()
        optimizer.step()
        if k % 10 == 0:
            print(f"epoch {epoch} batch {k:2d} loss {loss.item():.4f}")

hits = 0
with torch.no_grad():
    for batch in test_loader:
        hits += (model(batch["image"]).argmax(1) == batch["label"]).sum().item()
print(f"test accuracy {hits / 597:.3f}")
