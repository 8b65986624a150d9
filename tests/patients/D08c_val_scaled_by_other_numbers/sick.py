import os

import torch
import torch.nn as nn
from sklearn.datasets import load_wine

torch.manual_seed(int(os.environ.get("SEED", 0)))
data = load_wine()
X, y = torch.tensor(data.data, dtype=torch.float32), torch.tensor(data.target)
order = torch.randperm(len(X))
X, y = X[order], y[order]
X_train, X_test = X[:110], X[110:]
mean, std = X_train.mean(0), X_train.std(0)
old_mean, old_std = mean * 0.7 + std, std * 1.6  # from last year's campaign
X_train = (X_train - mean) / std
X_test = (X_test - old_mean) / old_std

model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(60):
    model.train()
    for rows in torch.randperm(110).split(22):
        optimizer.zero_grad()
        loss = loss_fn(model(X_train[rows]), y[:110][rows])
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            out = model(X_test)
            acc = (out.argmax(1) == y[110:]).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} test loss {loss_fn(out, y[110:]).item():.4f} test acc {acc:.3f}")
