import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


class Steps(Dataset):
    """Random walks with an upward or a downward drift."""

    def __init__(self, n, length=20):
        self.label = torch.randint(0, 2, (n,))
        drift = 0.3 * (2 * self.label - 1).float().view(n, 1, 1)
        self.walk = (torch.randn(n, length, 1) + drift).cumsum(1) / length**0.5

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return {"walk": self.walk[i], "label": self.label[i]}


class WalkNet(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, walk):
        _, (h, _) = self.lstm(walk)
        return self.fc(h[-1])


loader = DataLoader(Steps(960), batch_size=48, shuffle=True)
model = WalkNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)

for epoch in range(6):
    running = 0.0
    for batch in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch["walk"]), batch["label"])
        optimizer.step()
        running += loss.item()
    scheduler.step()
    print("epoch %d loss %.4f" % (epoch, running / len(loader)))

test = Steps(400)
with torch.no_grad():
    print("accuracy %.3f" % (model(test.walk).argmax(1) == test.label).float().mean().item())
