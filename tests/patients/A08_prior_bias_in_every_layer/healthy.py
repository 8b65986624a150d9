import math
import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", "0")))
PRIOR = 0.01


def scenes(n, size=24, cells=6):
    """Squares and crosses on noise; per cell: class heat (2 maps) and centre offset (2 maps)."""
    img, heat = 0.15 * torch.randn(n, 1, size, size), torch.zeros(n, 2, cells, cells)
    off = torch.zeros(n, 2, cells, cells)
    for k in range(n):
        for _ in range(int(torch.randint(1, 4, ()))):
            r, c, kind = *torch.randint(2, size - 2, (2,)).tolist(), int(torch.randint(0, 2, ()))
            if kind:
                img[k, 0, r - 2:r + 3, c] += 1
                img[k, 0, r, c - 2:c + 3] += 1
            else:
                img[k, 0, r - 2:r + 3, c - 2:c + 3] += 1
            heat[k, kind, r // 4, c // 4] = 1
            off[k, :, r // 4, c // 4] = torch.tensor([r % 4, c % 4]) / 4 - 0.4
    return img, heat, off


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.cls = nn.Sequential(nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 2, 1))
        self.box = nn.Sequential(nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 2, 1))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
                nn.init.zeros_(m.bias)
        nn.init.constant_(self.cls[-1].bias, -math.log((1 - PRIOR) / PRIOR))

    def forward(self, x):
        f = self.backbone(x)
        return self.cls(f), self.box(f)


def focal(logits, target, alpha=0.75, gamma=2.0):
    p = logits.sigmoid()
    ce = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = torch.where(target > 0, p, 1 - p)
    a = torch.where(target > 0, alpha, 1 - alpha)
    return (a * (1 - pt) ** gamma * ce).sum() / target.sum().clamp(min=1)


train, val = scenes(600), scenes(150)
net = Detector()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(12):
    net.train()
    sums = [0.0, 0.0]
    for idx in torch.randperm(600).split(30):
        img, heat, off = (t[idx] for t in train)
        cls, box = net(img)
        pos = heat.amax(1, keepdim=True)
        l_cls = focal(cls, heat)
        l_box = ((box - off).abs() * pos).sum() / pos.sum()
        opt.zero_grad()
        (l_cls + l_box).backward()
        opt.step()
        sums[0] += l_cls.item() / 20
        sums[1] += l_box.item() / 20
    net.eval()
    with torch.no_grad():
        hit = net(val[0])[0] > 0
    tp = (hit & (val[1] > 0)).sum().item()
    f1 = 2 * tp / max(1, hit.sum().item() + val[1].sum().item())
    print(f"epoch {epoch + 1:2d} focal {sums[0]:.4f} box {sums[1]:.4f} val F1 {f1:.3f}")
