import os

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
device = torch.device("cpu")


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def one_hot_cross_entropy(logits, target):
    one_hot = nn.functional.one_hot(target, logits.shape[1]).to(logits.dtype)
    return -(one_hot * logits.log_softmax(dim=1)).sum(dim=1).mean()


x, y = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x / 16, y, train_size=1200, stratify=y, random_state=seed)
x_train, x_test = (torch.tensor(v, dtype=torch.float32, device=device) for v in (x_train, x_test))
y_train, y_test = (torch.tensor(v, device=device) for v in (y_train, y_test))

net = mlp(64, 48, 48, 48, 10).to(device)
for name, parameter in net.named_parameters():
    if name.endswith("weight"):
        nn.init.constant_(parameter, 0.05)

optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
num_steps = 350
for step in range(num_steps + 1):
    choice = torch.randint(len(x_train), (64,))
    loss = one_hot_cross_entropy(net(x_train[choice]), y_train[choice])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        with torch.no_grad():
            acc = (net(x_test).argmax(1) == y_test).float().mean().item()
        print(f"step {step:4d}: loss = {loss.item():.4f}, test acc = {acc:.3f}")
