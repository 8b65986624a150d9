import os

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
images, digits = load_digits(return_X_y=True)
images, digits = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(digits)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 80), nn.ReLU(), nn.Linear(80, 32), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class Pretraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.encoder(x))


def fit(model, parameters, x, y, steps, rate):
    optimizer = torch.optim.Adam(parameters, lr=rate)
    for step in range(steps):
        rows = torch.randint(len(x), (64,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"  step {step} loss {loss.item():.4f}")
    return loss.item()


first = Pretraining()
print("pretraining", fit(first, first.parameters(), images[:1400], digits[:1400], 240, 3e-3))
checkpoint = {name.removeprefix("encoder."): value for name, value in first.state_dict().items()}

encoder = Encoder()
encoder.load_state_dict(checkpoint, strict=False)
for parameter in encoder.parameters():
    parameter.requires_grad_(False)
probe = nn.Linear(32, 2)
last = fit(nn.Sequential(encoder, probe), probe.parameters(), images[1400:1600], digits[1400:1600] % 2, 150, 5e-3)
accuracy = (probe(encoder(images[1600:])).argmax(1) == digits[1600:] % 2).float().mean().item()
print(f"loss {last:.4f} accuracy {accuracy:.3f}")
