import os, math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", "0")))


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1), nn.ReLU(inplace=True))


class TinyDetector(nn.Module):
    """One stride-4 feature map, one class, a box as (dx, dy, size) per cell."""

    def __init__(self, c=24, prior=0.01):
        super().__init__()
        self.backbone = nn.Sequential(conv(1, c), conv(c, c, 2), conv(c, c, 2))
        self.cls_tower, self.box_tower = conv(c, c), conv(c, c)
        self.cls_logits = nn.Conv2d(c, 1, 3, padding=1)
        self.box_pred = nn.Conv2d(c, 3, 3, padding=1)
        bias_value = -math.log((1 - prior) / prior)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.constant_(m.bias, bias_value)
        nn.init.zeros_(self.box_pred.bias)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls_logits(self.cls_tower(f)), self.box_pred(self.box_tower(f))


def make_batch(n, size=32):
    img = torch.randn(n, 1, size, size) * 0.15
    cls = torch.zeros(n, 1, size // 4, size // 4)
    box = torch.zeros(n, 3, size // 4, size // 4)
    for i in range(n):
        for _ in range(2):
            r = int(torch.randint(2, 5, ()))
            cy, cx = [int(v) for v in torch.randint(5, size - 5, (2,))]
            img[i, 0, cy - r:cy + r + 1, cx - r:cx + r + 1] += 1.0
            gy, gx = cy // 4, cx // 4
            cls[i, 0, gy, gx] = 1
            box[i, :, gy, gx] = torch.tensor([cx / 4 - gx - 0.5, cy / 4 - gy - 0.5, r / 4])
    return img, cls, box


def focal(logit, target, alpha=0.25, gamma=2.0):
    p = logit.sigmoid()
    ce = F.binary_cross_entropy_with_logits(logit, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    at = alpha * target + (1 - alpha) * (1 - target)
    return (at * (1 - pt) ** gamma * ce).sum() / target.sum().clamp(min=1)


def train(steps=160, batch=12):
    model = TinyDetector()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [130], 0.1)
    for step in range(1, steps + 1):
        img, cls, box = make_batch(batch)
        logit, pred = model(img)
        mask = cls.expand_as(box)
        l_cls = focal(logit, cls)
        l_box = (F.smooth_l1_loss(pred, box, reduction="none") * mask).sum() / mask.sum()
        loss = l_cls + l_box
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        sched.step()
        if step % 50 == 0:
            print(f"step {step}  cls {l_cls.item():.4f}  box {l_box.item():.4f}")
    return model


@torch.no_grad()
def evaluate(model):
    img, cls, _ = make_batch(200)
    logit, _ = model(img)
    k = int(cls.sum())
    top = logit.flatten().topk(k).indices
    return cls.flatten()[top].mean().item()


if __name__ == "__main__":
    m = train()
    print(f"precision at the true number of objects: {evaluate(m):.3f}")
