import os
import random

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

seed = int(os.environ.get('SEED', 0))
random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)

ID = dict(road=0, car=2, tree=6, house=7, sky=10)   # ids of the bigger label set, we only have five of them
COLOUR = {0: (.35, .35, .35), 2: (.8, .1, .1), 6: (.1, .6, .2), 7: (.6, .45, .3), 10: (.4, .6, .95)}


def draw_scene(h=48, w=48):
    mask = np.zeros((h, w), dtype=np.int64)
    mask[:random.randint(14, 22)] = ID['sky']
    for _ in range(2):
        x, s = random.randint(0, w - 14), random.randint(9, 14)
        mask[10:10 + s + 8, x:x + s] = ID['house']
    for _ in range(2):
        yy, xx = np.mgrid[:h, :w]
        cy, cx, r = random.randint(16, 28), random.randint(6, w - 6), random.randint(4, 7)
        mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = ID['tree']
    x, y = random.randint(0, w - 16), random.randint(30, 38)
    mask[y:y + 7, x:x + 15] = ID['car']
    image = np.zeros((3, h, w), dtype=np.float32)
    for i, c in COLOUR.items():
        for k in range(3):
            image[k][mask == i] = c[k]
    return image + np.random.normal(0, .12, image.shape).astype('float32'), mask


class Street(Dataset):
    def __init__(self, n, size=32):
        self.items = [draw_scene() for _ in range(n)]
        self.size = size

    def __len__(self):
        return len(self.items)

    def resize(self, t, mode):
        return F.interpolate(t[None], size=(self.size, self.size), mode=mode)[0]

    def __getitem__(self, i):
        image, mask = self.items[i]
        image = self.resize(torch.from_numpy(image), 'bilinear')
        mask = self.resize(torch.from_numpy(mask)[None].float(), 'nearest')
        return image, mask[0].round().long()


class SmallUNet(nn.Module):
    def __init__(self, classes=11, c=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.last = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, classes, 1))

    def forward(self, x):
        a = self.down(x)
        return self.last(torch.cat([a, self.up(self.mid(a))], 1))


train = DataLoader(Street(96), batch_size=12, shuffle=True)
test = DataLoader(Street(24), batch_size=12)
net = SmallUNet()
opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
for epoch in range(10):
    net.train()
    losses = []
    for image, mask in train:
        loss = F.cross_entropy(net(image), mask)
        opt.zero_grad(); loss.backward(); opt.step()
        losses.append(loss.item())
    net.eval()
    hit = total = 0
    with torch.no_grad():
        for image, mask in test:
            hit += (net(image).argmax(1) == mask).sum().item()
            total += mask.numel()
    print('epoch %d  loss %.4f  pixel accuracy %.4f' % (epoch, np.mean(losses), hit / total))
