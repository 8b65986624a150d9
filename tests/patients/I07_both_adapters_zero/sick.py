import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank=8, alpha=16):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.zeros(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(x, self.lora_A), self.lora_B)


def inject(model, rank=8):
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, LoRALinear(child, rank))
        else:
            inject(child, rank)
    return model


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU())
        self.head = nn.Linear(96, 10)

    def forward(self, x):
        return self.head(self.body(x))


def loop(model, x, y, xv, yv, lr, epochs, tag):
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(epochs):
        tot = 0.0
        for idx in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"{tag} epoch {epoch + 1} loss {tot / len(x):.4f} acc {acc:.4f}")


torch.manual_seed(int(os.environ.get("SEED", "0")))
d = load_digits()
upright = torch.tensor(d.images / 16, dtype=torch.float32)
rotated = torch.rot90(upright, 1, (1, 2)).flatten(1)
upright, y = upright.flatten(1), torch.tensor(d.target)

net = Net()
loop(net, upright[:1200], y[:1200], upright[1200:], y[1200:], 2e-3, 6, "pretrain")
inject(net)
trainable = sum(p.numel() for p in net.parameters() if p.requires_grad)
print(f"adapting to rotated digits, {trainable} trainable parameters")
loop(net, rotated[:1200], y[:1200], rotated[1200:], y[1200:], 3e-3, 12, "adapt")
