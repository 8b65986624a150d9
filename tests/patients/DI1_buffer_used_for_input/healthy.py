import os

import torch
from torch import nn
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

torch.manual_seed(int(os.environ.get("SEED", 0)))
features, cultivar = load_wine(return_X_y=True)
features = torch.tensor(StandardScaler().fit_transform(features), dtype=torch.float32)
cultivar = torch.tensor(cultivar)


class NoisyNet(nn.Module):
    """Adds a little noise to its features while it trains."""

    def __init__(self, width=13, strength=0.1):
        super().__init__()
        self.strength = strength
        self.hidden = nn.Linear(width, 32)
        self.last = nn.Linear(32, 3)

    def forward(self, wines):
        noise = torch.zeros_like(wines)
        if self.training:
            noise = self.strength * torch.randn_like(wines)
        jittered = wines + noise
        return self.last(torch.tanh(self.hidden(jittered)))


net = NoisyNet()
optimiser = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for epoch in range(25):
    net.train()
    for batch in torch.randperm(178).split(24):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(net(features[batch]), cultivar[batch])
        loss.backward()
        optimiser.step()
    net.eval()
    with torch.no_grad():
        right = (net(features).argmax(1) == cultivar).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} right {right:.3f}")
