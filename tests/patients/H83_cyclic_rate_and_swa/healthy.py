import os
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits


def main():
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    d = load_digits()
    x = torch.tensor(d.images / 16, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target)
    p = torch.randperm(len(y))
    train = DataLoader(TensorDataset(x[p[:1200]], y[p[:1200]]), batch_size=40, shuffle=True)
    xv, yv = x[p[1200:]], y[p[1200:]]
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.85)
    sched = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.001, max_lr=0.6, step_size_up=75, cycle_momentum=False)
    swa = AveragedModel(net)
    step = 0
    for epoch in range(15):
        net.train()
        tot = 0.0
        for xb, yb in train:
            loss = nn.functional.cross_entropy(net(xb + 0.4 * torch.randn_like(xb)), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            step += 1
            tot += loss.item()
            if step % 150 == 0:
                swa.update_parameters(net)
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch:2d} lr {sched.get_last_lr()[0]:.3f} loss {tot / len(train):.4f} val acc {acc:.4f}")
    update_bn(train, swa)
    swa.eval()
    with torch.no_grad():
        print("swa val acc", (swa(xv).argmax(1) == yv).float().mean().item())


main()
