import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.33, random_state=seed, stratify=y)
Xa, Xb, ya, yb = map(torch.from_numpy, (Xa, Xb, ya, yb))

net = torch.nn.Sequential(
    torch.nn.Linear(64, 128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, 10),
)
crit = torch.nn.CrossEntropyLoss(label_smoothing=0.2)
optim = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(25):
    order = torch.randperm(len(Xa))
    for b in order.split(64):
        optim.zero_grad()
        loss = crit(net(Xa[b]), ya[b])
        loss.backward()
        optim.step()
    if epoch % 4 == 0:
        with torch.no_grad():
            acc = (net(Xb).argmax(1) == yb).float().mean().item()
        print(f"epoch {epoch}: loss={loss.item():.4f} val_acc={acc:.3f}")
print("accuracy", (net(Xb).argmax(1) == yb).float().mean().item())
