"""Three kinds of grain by their near-infrared spectra. Measurements are few, so each one is repeated with some noise."""
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SEED = int(os.environ.get("SEED", "0"))


def measure(count, generator):
    """Sums of eight bands of random height; the kind shifts two of them a little."""
    at = torch.linspace(0, 1, 64)
    bands = torch.exp(-((at - torch.linspace(0.08, 0.92, 8)[:, None]) ** 2) / 0.004)
    kind = torch.randint(0, 3, (count,), generator=generator)
    height = torch.randn(count, 8, generator=generator)
    height[:, 2] += 1.6 * (kind == 1)
    height[:, 5] += 1.6 * (kind == 2)
    return height @ bands, kind


def repeated(dataset, times, noise=0.03):
    spectra, kind = map(torch.stack, zip(*dataset))
    spectra, kind = spectra.repeat(times, 1), kind.repeat(times)
    return TensorDataset(spectra + noise * torch.randn_like(spectra), kind)


class Spectrometer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 8, 7, stride=2, padding=3), nn.ReLU(), nn.Conv1d(8, 16, 5, stride=2, padding=2), nn.ReLU())
        self.kind = nn.Linear(16 * 16, 3)

    def forward(self, spectra):
        return self.kind(self.features(spectra.unsqueeze(1)).flatten(1))


def share_right(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for spectra, kind in loader:
            right += (model(spectra).argmax(1) == kind).sum().item()
    model.train()
    return right / len(loader.dataset)


def main():
    torch.manual_seed(SEED)
    dataset = TensorDataset(*measure(400, torch.Generator().manual_seed(SEED + 7)))
    dataset = repeated(dataset, 5)
    train, val = random_split(dataset, [0.8, 0.2])
    loader, val_loader = DataLoader(train, batch_size=40, shuffle=True), DataLoader(val, batch_size=50)
    model = Spectrometer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(20):
        total = 0.0
        for spectra, kind in loader:
            loss = nn.functional.cross_entropy(model(spectra), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        print(f"epoch {epoch} loss {total:.4f} validation {share_right(model, val_loader):.3f}")
    new = TensorDataset(*measure(1000, torch.Generator().manual_seed(SEED + 8)))
    print(f"harvest of the next year: {share_right(model, DataLoader(new, batch_size=100)):.3f}")


main()
