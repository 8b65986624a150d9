import os

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

torch.manual_seed(int(os.environ.get("SEED", 0)))


class RingGan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 2))
        self.critic = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
        self.optimizers = {
            "generator": torch.optim.Adam(self.generator.parameters(), lr=5e-4, betas=(0.5, 0.999)),
            "critic": torch.optim.Adam(self.critic.parameters(), lr=1e-3, betas=(0.5, 0.999)),
        }

    def step_of(self, which, real):
        fake = self.generator(torch.randn(len(real), 4))
        if which == "generator":
            return bce(self.critic(fake), torch.ones(len(real), 1))
        return bce(self.critic(real), torch.ones(len(real), 1)) + bce(self.critic(fake.detach()), torch.zeros(len(real), 1))

    def fit(self, batches):
        for number, real in enumerate(batches):
            shown = {}
            for which, optimizer in self.optimizers.items():
                loss = self.step_of(which, real)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                shown[which] = loss.item()
            if number % 200 == 0:
                print(number, shown)


def real_points(n):
    angle = 2 * torch.pi * torch.rand(n)
    return 2 * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


gan = RingGan()
gan.fit(real_points(128) for _ in range(1000))
with torch.no_grad():
    radius = gan.generator(torch.randn(2000, 4)).norm(dim=1)
print(f"share of points near the ring {((radius - 2).abs() < 0.4).float().mean().item():.3f}")
