import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(int(os.environ.get("SEED", 0)))
digits = load_digits()
dataset = TensorDataset(torch.tensor(digits.images, dtype=torch.float32) / 16, torch.tensor(digits.target))
train_set, val_set = random_split(dataset, [1200, len(dataset) - 1200])
loaders = {"train": DataLoader(train_set, 64, shuffle=True), "val": DataLoader(val_set, 256)}

model = nn.Sequential(
    nn.Flatten(),
    nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.5),
    nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.5),
    nn.Linear(64, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(25):
    stats = {}
    for phase in ("train", "val"):
        model.train(phase == "train")
        total, correct, n = 0.0, 0, 0
        for x, y in loaders[phase]:
            with torch.set_grad_enabled(phase == "train"):
                out = model(x)
                loss = criterion(out, y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(x)
            correct += (out.argmax(1) == y).sum().item()
            n += len(x)
        stats[phase] = (total / n, correct / n)
    if epoch % 4 == 0:
        print(f"epoch {epoch} loss {stats['train'][0]:.4f} acc {stats['train'][1]:.3f} val_loss {stats['val'][0]:.4f}")
print("val accuracy", stats["val"][1])
