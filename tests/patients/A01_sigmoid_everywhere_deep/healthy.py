import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(int(os.environ.get("SEED", 0)))


def deep_net(n_in, width, n_out, hidden_layers):
    sizes = [n_in] + [width] * hidden_layers
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
        nn.init.kaiming_normal_(layers[-2].weight)
    layers.append(nn.Linear(width, n_out))
    return nn.Sequential(*layers)


digits = load_digits()
everything = TensorDataset(torch.tensor(digits.data / 16).float(), torch.tensor(digits.target))
train_set, val_set = random_split(everything, [1200, 597])
loader = DataLoader(train_set, batch_size=64, shuffle=True)

net = deep_net(64, 48, 10, hidden_layers=12)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(16):
    total = 0.0
    for pixels, digit in loader:
        loss = loss_fn(net(pixels), digit)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")

pixels, digit = val_set[:]
with torch.no_grad():
    print(f"validation accuracy: {(net(pixels).argmax(1) == digit).float().mean().item():.3f}")
