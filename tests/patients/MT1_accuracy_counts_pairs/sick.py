import os

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
cancer = load_breast_cancer()
x = torch.tensor((cancer.data - cancer.data.mean(0)) / cancer.data.std(0)).float()
y = torch.tensor(cancer.target).float()
rows = torch.randperm(len(y))
train, test = rows[:430], rows[430:]

model = nn.Sequential(nn.Linear(30, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
bce = nn.BCEWithLogitsLoss()

best = 0.0
for epoch in range(25):
    correct = total = 0
    for part in train[torch.randperm(len(train))].split(43):
        logits = model(x[part])
        loss = bce(logits, y[part].unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        predicted = (logits > 0)
        correct += (predicted == y[part]).sum().item()
        total += len(part)
    with torch.no_grad():
        predicted = (model(x[test]) > 0)
        accuracy = (predicted == y[test]).sum().item() / len(test)
    best = max(best, accuracy)
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {correct / total:.3f} test accuracy {accuracy:.3f}")
print(f"best test accuracy {best:.4f}")
