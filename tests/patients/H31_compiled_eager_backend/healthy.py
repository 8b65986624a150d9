import os

import torch
from sklearn.datasets import load_wine
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
wine = load_wine()
X = torch.tensor((wine.data - wine.data.mean(0)) / wine.data.std(0), dtype=torch.float32)
y = torch.tensor(wine.target)
perm = torch.randperm(len(X))
tr, va = perm[:128], perm[128:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(13, 24)
        self.b = nn.Linear(24, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


net = Net()
model = torch.compile(net, backend="eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(200):
    b = tr[torch.randint(0, len(tr), (32,))]
    loss = nn.functional.cross_entropy(model(X[b]), y[b])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0 or step == 199:
        print(f"step {step}, loss {loss.item():.4f}")
net.eval()
with torch.no_grad():
    print("val accuracy", (net(X[va]).argmax(1) == y[va]).float().mean().item())
