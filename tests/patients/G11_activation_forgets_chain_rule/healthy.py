import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(os.environ.get("SEED", 0)))


class InverseRootUnit(torch.autograd.Function):
    """x for x > 0, x / sqrt(1 + alpha x^2) below."""

    @staticmethod
    def forward(ctx, x, alpha):
        root = torch.rsqrt(1 + alpha * x.clamp(max=0) ** 2)
        ctx.save_for_backward(root)
        return x * root

    @staticmethod
    def backward(ctx, grad_output):
        root, = ctx.saved_tensors
        return grad_output * root ** 3, None


class Activation(nn.Module):
    def __init__(self, alpha=3.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return InverseRootUnit.apply(x, self.alpha)


digits = load_digits()
x = torch.tensor(digits.data / 16, dtype=torch.float32)
y = torch.tensor(digits.target)
loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), Activation(), nn.Linear(64, 64), Activation(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_function = nn.CrossEntropyLoss()

for epoch in range(10):
    seen = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = loss_function(model(inputs), labels)
        loss.backward()
        optimizer.step()
        seen += loss.item() / len(loader)
    print(f"epoch {epoch} loss {seen:.4f}")
with torch.no_grad():
    print(f"accuracy {(model(x[1200:]).argmax(1) == y[1200:]).float().mean().item():.3f}")
