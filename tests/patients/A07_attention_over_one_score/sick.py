import os
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = int(os.environ.get("SEED", "0"))
N_VALUES, T = 8, 12


def stream(seed, batch):
    """Bags of T items; exactly one carries the marker, its value is the label."""
    g = torch.Generator().manual_seed(seed)
    while True:
        values = torch.randint(0, N_VALUES, (batch, T), generator=g)
        where = torch.randint(0, T, (batch,), generator=g)
        marker = F.one_hot(where, T).float().unsqueeze(-1)
        feats = torch.cat([F.one_hot(values, N_VALUES).float(), marker], -1)
        feats = feats + 0.1 * torch.randn(feats.shape, generator=g)
        yield feats, values.gather(1, where[:, None]).squeeze(1)


class AttentionPool(nn.Module):
    def __init__(self, d, hidden=16):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.value = nn.Linear(d, 32)

    def forward(self, x):
        w = torch.softmax(self.score(x), dim=-1)
        return (w * self.value(x)).sum(1), w


class BagClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = AttentionPool(N_VALUES + 1)
        self.out = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, N_VALUES))

    def forward(self, x):
        z, w = self.pool(x)
        return self.out(z), w


def main():
    torch.manual_seed(SEED)
    model = BagClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    test_x, test_y = next(stream(SEED + 999, 600))
    losses = []
    for step, (x, y) in zip(range(1, 1201), stream(SEED, 64)):
        logits, _ = model(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 200 == 0:
            with torch.no_grad():
                acc = (model(test_x)[0].argmax(1) == test_y).float().mean().item()
            print(f"step {step} loss {sum(losses[-200:]) / 200:.3f} test acc {acc:.3f}")


main()
