import os

import torch
import torch.nn as nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
N = 20000
x = torch.randn(N, 6)
clean = (x[:, 0] * 2 - x[:, 1] + 0.5 * x[:, 2] > 0).long()
flip = torch.rand(N) < 0.3
y = torch.where(flip, 1 - clean, clean)

model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
epoch_loss = []
for epoch in range(4):
    for b in torch.randperm(16000).split(128):
        opt.zero_grad()
        loss = criterion(model(x[b]), y[b])
        loss.backward()
        opt.step()
        epoch_loss.append(loss.item())
        if len(epoch_loss) % 100 == 1:
            recent = epoch_loss[-50:]
            print(f"batch {len(epoch_loss)} loss {sum(recent) / len(recent):.4f}")
with torch.no_grad():
    pred = model(x[16000:]).argmax(1)
print("accuracy on given labels", (pred == y[16000:]).float().mean().item())
print("agreement with the true rule", (pred == clean[16000:]).float().mean().item())
