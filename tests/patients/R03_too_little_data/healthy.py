import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def survey(n, generator):
    x = torch.randn(n, 20, generator=generator)
    y = x[:, 0] - 0.8 * x[:, 1] + 0.6 * x[:, 2] + 0.8 * torch.randn(n, generator=generator)
    return TensorDataset(x, (y > 0).float().unsqueeze(1))


def epoch_pass(model, loader, loss_fn, optimizer=None):
    model.train(optimizer is not None)
    total, n = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            loss = loss_fn(model(x), y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(x)
            n += len(x)
    return total / n


N_TRAIN, STEPS = 4000, 400

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
gen = torch.Generator().manual_seed(seed)
train_loader = DataLoader(survey(N_TRAIN, gen), batch_size=40, shuffle=True)
val_loader = DataLoader(survey(400, gen), batch_size=400)
model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
epochs = STEPS // len(train_loader)
for epoch in range(epochs):
    loss = epoch_pass(model, train_loader, nn.BCEWithLogitsLoss(), optimizer)
    val = epoch_pass(model, val_loader, nn.BCEWithLogitsLoss())
    if epoch % max(1, epochs // 10) == 0 or epoch == epochs - 1:
        print(f"epoch {epoch} loss {loss:.4f} val_loss {val:.4f}")
print("final validation cross-entropy", val)
