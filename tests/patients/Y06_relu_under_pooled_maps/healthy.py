import os
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", "0")))
digits = load_digits()
x = torch.as_tensor(digits.images, dtype=torch.float32)[:, None] / 16
y = torch.as_tensor(digits.target)
order = torch.randperm(len(x))
x, y = x[order], y[order]

# all-convolutional net: the last 1x1 layer has one map per class, averaged over space
spec = [(1, 24, 3), (24, 32, 3), (32, 48, 3), (48, 10, 1)]


class AllConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(i, o, k, padding=k // 2) for i, o, k in spec])
        for c in self.convs:
            nn.init.kaiming_normal_(c.weight, nonlinearity="relu")
            nn.init.zeros_(c.bias)

    def forward(self, z):
        for i, c in enumerate(self.convs):
            z = c(z).relu() if i < len(self.convs) - 1 else c(z)
            if i == 1:
                z = nn.functional.max_pool2d(z, 2)
        return z.mean(dim=(-1, -2))


model = AllConv()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(8):
    losses = []
    for i in range(0, 1400, 50):
        logits = model(x[i:i + 50])
        loss = nn.functional.cross_entropy(logits, y[i:i + 50])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        pred = model(x[1400:]).argmax(1)
    acc = (pred == y[1400:]).float().mean().item()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f} acc {acc:.3f}")
per_class = [round((pred[y[1400:] == k] == k).float().mean().item(), 2) for k in range(10)]
print("recall per class", per_class)
