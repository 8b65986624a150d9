import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))


class NormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 64)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 64)
        self.bn2 = nn.BatchNorm1d(64)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.fc1(x)))
        x = torch.relu(self.bn2(self.fc2(x)))
        return self.head(x)


def split(seed):
    data = load_digits(as_frame=False)
    x = torch.tensor(data.data, dtype=torch.float32) / 16
    y = torch.tensor(data.target, dtype=torch.long)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    return {"train": (x[:1200], y[:1200]), "val": (x[1200:], y[1200:])}


sets = split(0)
model = NormNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(8):
    for phase in ("train", "val"):
        model.train(phase == "train")
        x, y = sets[phase]
        losses, correct = [], 0
        for xb, yb in zip(x.split(80), y.split(80)):
            with torch.set_grad_enabled(phase == "train"):
                logits = model(xb)
                loss = loss_fn(logits, yb)
            if phase == "train":
                model.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
            correct += (logits.argmax(1) == yb).sum().item()
        name = "loss" if phase == "train" else "val_loss"
        print(f"{epoch} {name} {sum(losses) / len(losses):.4f} {phase}_accuracy {correct / len(x):.3f}")
