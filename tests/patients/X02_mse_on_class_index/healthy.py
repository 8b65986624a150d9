import os
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(int(os.environ.get("SEED", 0)))

images, labels = load_digits(return_X_y=True)
images = torch.as_tensor(images / 16.0, dtype=torch.float32)
labels = torch.as_tensor(labels)
shuffle = torch.randperm(images.shape[0])
images, labels = images[shuffle], labels[shuffle]
n_train = 1200

model = nn.Sequential(
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)


def compute_loss(out, target):
    return nn.functional.cross_entropy(out, target)


def predict(out):
    return out.argmax(1)


opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    idx = torch.randint(0, n_train, (64,))
    loss = compute_loss(model(images[idx]), labels[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == 399:
        with torch.no_grad():
            acc = (predict(model(images[:n_train])) == labels[:n_train]).float().mean()
        print(f"step {step:3d} loss {loss.item():.4f} train acc {acc.item():.3f}")

model.eval()
with torch.no_grad():
    acc = (predict(model(images[n_train:])) == labels[n_train:]).float().mean()
print("val acc", acc.item())
