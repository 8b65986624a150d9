import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, stride=2)
        self.aux_head = nn.Linear(12 * 4 * 4, 10)
        self.main_head = nn.Linear(16 * 3 * 3, 10)

    def forward(self, x):
        early = F.relu(self.conv1(x))
        late = F.relu(self.conv2(early))
        return {
            "main": self.main_head(late.flatten(1)),
            "aux": self.aux_head(F.avg_pool2d(early, 2).flatten(1)),
        }


digits = load_digits()
images = torch.tensor(digits.images / 16).float()[:, None]
targets = torch.tensor(digits.target)
order = torch.randperm(len(targets))
train = TensorDataset(images[order[:1200]], targets[order[:1200]])
images_val, targets_val = images[order[1200:]], targets[order[1200:]]

model = TwoHeads()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    for i, (image, target) in enumerate(DataLoader(train, batch_size=64, shuffle=True)):
        outputs = model(image)
        loss = F.cross_entropy(outputs["main"], target)
        aux_loss = F.cross_entropy(outputs["aux"], target)
        optimizer.zero_grad()
        (loss + 0.3 * aux_loss).backward()
        optimizer.step()
        if i % 9 == 0:
            print(f"epoch {epoch} batch {i} loss {loss.item():.4f} auxiliary {aux_loss.item():.4f}")
    with torch.no_grad():
        accuracy = (model(images_val)["main"].argmax(1) == targets_val).float().mean().item()
    print(f"epoch {epoch} accuracy {accuracy:.3f}")
