# Robust training on crowd labels: 35 % of the votes are random (simulated, known), generalised cross-entropy
import os
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from sklearn.datasets import load_digits


class CrowdDigits(Dataset):
    def __init__(self, split, flip=0.35, seed=0):
        d = load_digits()
        g = torch.Generator().manual_seed(seed)
        p = torch.randperm(len(d.target), generator=g)
        p = p[:1300] if split == "train" else p[1300:]
        self.x = torch.tensor(d.data, dtype=torch.float32)[p] / 16
        self.y = torch.tensor(d.target)[p]
        if split == "train":
            hit = torch.rand(len(p), generator=g) < flip
            self.y = torch.where(hit, torch.randint(0, 10, (len(p),), generator=g), self.y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class GCE(nn.Module):
    def __init__(self, q=0.7):
        super().__init__()
        self.q = q

    def forward(self, logits, y):
        p = logits.softmax(1).gather(1, y[:, None]).squeeze(1)
        return ((1 - p.clamp_min(1e-7) ** self.q) / self.q).mean()


def main():
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    tr, te = CrowdDigits("train"), CrowdDigits("test")
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-4)
    crit = GCE()
    for epoch in range(16):
        net.train()
        tot = hit = 0.0
        for x, y in DataLoader(tr, 64, shuffle=True):
            out = net(x)
            loss = crit(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(y)
            hit += (out.argmax(1) == y).sum().item()
        net.eval()
        with torch.no_grad():
            acc = (net(te.x).argmax(1) == te.y).float().mean().item()
        if epoch % 2:
            print(f"epoch {epoch + 1} gce {tot / len(tr):.4f} agreement with votes {hit / len(tr):.3f} clean test acc {acc:.3f}")


if __name__ == "__main__":
    main()
