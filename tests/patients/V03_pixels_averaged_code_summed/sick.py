import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)
SIDE, LATENT = 12, 4


def blobs(count):
    """One bright spot each, somewhere on the picture, wide or narrow."""
    grid = torch.stack(torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")).float()
    centre = 2 + (SIDE - 5) * torch.rand(count, 2, 1, 1)
    width = 1 + 1.5 * torch.rand(count, 1, 1)
    return torch.exp(-((grid - centre) ** 2).sum(1) / (2 * width ** 2)).unsqueeze(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.SiLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.SiLU(), nn.Flatten())
        self.to_code = nn.Linear(16 * 9, 2 * LATENT)

    def forward(self, pictures):
        return self.to_code(self.body(pictures)).chunk(2, dim=1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LATENT, 64), nn.SiLU(), nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, SIDE * SIDE))

    def forward(self, code):
        return self.body(code).view(-1, 1, SIDE, SIDE)


def main():
    pictures = blobs(1024)
    encoder, decoder = Encoder(), Decoder()
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
    for epoch in range(20):
        shown = 0.0
        for batch in torch.randperm(len(pictures)).split(64):
            picture = pictures[batch]
            mean, log_var = encoder(picture)
            code = mean + torch.randn_like(mean) * (log_var / 2).exp()
            distance = 0.5 * F.mse_loss(decoder(code), picture) / 0.05
            divergence = 0.5 * (mean ** 2 + log_var.exp() - 1 - log_var).sum(dim=1).mean()
            loss = distance + divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            shown += F.mse_loss(decoder(mean.detach()), picture).item() / 16
        print(f"epoch {epoch} pixel error {shown:.5f} of {pictures.var(0).mean():.5f}")


main()
