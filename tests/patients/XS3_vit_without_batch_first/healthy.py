import argparse
import os

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class PatchEmbed(nn.Module):
    def __init__(self, patch, dim):
        super().__init__()
        self.proj = nn.Conv2d(1, dim, kernel_size=patch, stride=patch)

    def forward(self, img):
        return self.proj(img).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, size=8, patch=2, dim=48, heads=4, depth=2, classes=10):
        super().__init__()
        n = (size // patch) ** 2
        self.embed = PatchEmbed(patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.0, activation="gelu", norm_first=True,
                                           batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        tok = self.embed(img)
        tok = torch.cat([self.cls.expand(len(tok), -1, -1), tok], dim=1) + self.pos
        tok = self.encoder(tok)
        return self.head(self.norm(tok[:, 0]))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(-1) == y).float().mean().item()


def main(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")))
    args = ap.parse_args(argv)

    torch.manual_seed(args.seed)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
    y = torch.tensor(d.target)
    order = torch.randperm(len(x))
    tr, va = order[:1440], order[1440:]
    model = ViT()
    steps = args.epochs * (len(tr) // args.batch_size)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=steps)
    lossf = nn.CrossEntropyLoss()
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {steps} steps")
    for epoch in range(args.epochs):
        model.train()
        idx = tr[torch.randperm(len(tr))]
        total = 0.0
        nb = len(tr) // args.batch_size
        for b in range(nb):
            sel = idx[b * args.batch_size:(b + 1) * args.batch_size]
            loss = lossf(model(x[sel]), y[sel])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / nb:.3f}, val acc {accuracy(model, x[va], y[va]):.3f}")


if __name__ == "__main__":
    main()
