import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine


def train(classifier, x, one_hot, epochs, lr):
    optimizer = torch.optim.SGD(classifier.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(16):
            optimizer.zero_grad()
            loss = F.mse_loss(classifier(x[rows]), one_hot[rows])
            loss.backward()
            optimizer.step()
        if epoch % 10 == 0 or epoch == epochs - 1:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    return classifier


torch.manual_seed(int(os.environ.get("SEED", 0)))
wine = load_wine()
x = torch.tensor(wine.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
kind = torch.tensor(wine.target)
net = torch.nn.Sequential(torch.nn.Linear(13, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3))
net = train(net, x, F.one_hot(kind).float(), 50, 0.05)
print("accuracy", (net(x).argmax(1) == kind).float().mean().item())
