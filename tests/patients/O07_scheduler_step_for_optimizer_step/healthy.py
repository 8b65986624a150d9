import os

import torch
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale
from torch.optim import SGD
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(int(os.environ.get("SEED", 0)))

X, t = load_diabetes(return_X_y=True)
dataset = TensorDataset(torch.tensor(scale(X)).float(), torch.tensor(scale(t)).float())
train_set, test_set = random_split(dataset, [342, 100])
loader = DataLoader(train_set, batch_size=18, shuffle=True)

model = torch.nn.Sequential(
    torch.nn.Linear(10, 32),
    torch.nn.SiLU(),
    torch.nn.Linear(32, 1),
    torch.nn.Flatten(0),
)
optimizer = SGD(model.parameters(), lr=0.05, momentum=0.5)
scheduler = ExponentialLR(optimizer, gamma=0.998)
mse = torch.nn.MSELoss()

for epoch in range(15):
    total = 0.0
    for features, target in loader:
        optimizer.zero_grad()
        loss = mse(model(features), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    print(f"epoch={epoch} loss={total / len(loader):.4f} lr={scheduler.get_last_lr()[0]:.4f}")

with torch.no_grad():
    features, target = test_set[:]
    residual = target - model(features)
print(f"R2={1 - residual.var().item() / target.var().item():.3f}")
