import os

import torch
from sklearn.datasets import load_wine
from torch import nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
wine = load_wine()
features = torch.tensor(wine.data, dtype=torch.float32)
features = (features - features.mean(0)) / features.std(0)
cultivar = torch.tensor(wine.target)


def encoder():
    return nn.Sequential(nn.Linear(13, 24), nn.GELU(), nn.Linear(24, 8))


# first the encoder learns to restore masked columns
body, decoder = encoder(), nn.Linear(8, 13)
optimizer = torch.optim.AdamW([*body.parameters(), *decoder.parameters()], lr=5e-3)
for _ in range(120):
    rows = features[torch.randint(len(features), (48,))]
    restored = decoder(body(rows * (torch.rand_like(rows) > 0.2)))
    error = (restored - rows).square().mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
print(f"restoring: {error.item():.3f}")

# then a classifier starts from its weights
classifier = nn.Sequential(encoder(), nn.GELU(), nn.Linear(8, 3))
classifier[0].load_state_dict(body.state_dict())
for step in range(200):
    pick = torch.randint(len(features), (48,))
    loss = nn.functional.cross_entropy(classifier(features[pick]), cultivar[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    classifier.zero_grad()
    if step % 40 == 0:
        print(f"step {step}: {loss.item():.3f}")
accuracy = (classifier(features).argmax(1) == cultivar).float().mean().item()
print(f"loss {loss.item():.4f} accuracy {accuracy:.3f}")
