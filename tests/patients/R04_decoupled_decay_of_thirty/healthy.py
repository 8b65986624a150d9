import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Tones(Dataset):
    """Half a second of noise with a tone in it; the class is the tone."""

    def __init__(self, size, seed):
        make = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 4, (size,), generator=make)
        clock = torch.arange(64).float()
        pitch = torch.tensor([0.2, 0.34, 0.5, 0.71])[self.y]
        phase = 6.28 * torch.rand(size, generator=make)
        wave = torch.sin(pitch[:, None] * clock + phase[:, None])
        self.x = (wave + 0.8 * torch.randn(size, 64, generator=make)).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ToneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 12, 9, padding=4), nn.GELU(), nn.MaxPool1d(4),
            nn.Conv1d(12, 24, 5, padding=2), nn.GELU(), nn.AdaptiveAvgPool1d(2),
        )
        self.classifier = nn.Linear(48, 4)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def configure_optimizer(net, lr=3e-3, weight_decay=0.01):
    """Matrices decay, biases do not."""
    matrices = [p for p in net.parameters() if p.ndim > 1]
    vectors = [p for p in net.parameters() if p.ndim <= 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}], lr=lr)


def accuracy(net, loader):
    net.eval()
    with torch.no_grad():
        good = [(net(x).argmax(1) == y).float().mean() for x, y in loader]
    net.train()
    return sum(good).item() / len(good)


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    train, test = Tones(1000, seed), Tones(400, seed + 50)
    net = ToneNet()
    optimizer = configure_optimizer(net)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16 * 20, eta_min=1e-4)
    for epoch in range(16):
        seen = []
        for x, y in DataLoader(train, batch_size=50, shuffle=True):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            seen.append(loss.item())
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d} first {seen[0]:.4f} mean {sum(seen) / len(seen):.4f}")
    print(f"test accuracy {accuracy(net, DataLoader(test, batch_size=100)):.3f}")


if __name__ == "__main__":
    main()
