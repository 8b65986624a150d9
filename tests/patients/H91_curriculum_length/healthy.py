"""Curriculum: report the symbol seen first; the sequence grows as soon as the present length is mastered."""
import argparse
import os
import torch
import torch.nn as nn


class Curriculum:
    def __init__(self, lengths=(4, 10, 20, 35), threshold=0.97):
        self.lengths, self.threshold, self.stage, self.hist = lengths, threshold, 0, []

    @property
    def length(self):
        return self.lengths[self.stage]

    def report(self, acc):
        self.hist.append(acc)
        if len(self.hist) >= 20 and sum(self.hist[-20:]) / 20 > self.threshold and self.stage < len(self.lengths) - 1:
            self.stage += 1
            self.hist.clear()
            return True
        return False


def batch(n, T, symbols=8):
    marker = torch.randint(0, symbols, (n, 1))
    rest = torch.randint(symbols, 2 * symbols, (n, T - 1))
    half = torch.randint(0, symbols, (n, 1))
    where = torch.randint(0, T - 1, (n, 1))
    rest.scatter_(1, where, half)
    return torch.cat([marker, rest], 1), (marker + half).squeeze(1) % symbols


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(16, 16)
        self.gru = nn.GRU(16, 64, batch_first=True)
        self.fc = nn.Linear(64, 8)

    def forward(self, x):
        return self.fc(self.gru(self.emb(x))[1][-1])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=600)
    args = ap.parse_args()
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    net, cur = Memory(), Curriculum()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for step in range(1, args.steps + 1):
        x, y = batch(64, cur.length)
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if cur.report((out.argmax(1) == y).float().mean().item()):
            print(f"step {step}: length is now {cur.length}")
        if step % 50 == 0:
            with torch.no_grad():
                x, y = batch(500, 35)
                acc = (net(x).argmax(1) == y).float().mean().item()
            print(f"step {step} T={cur.length} loss {loss.item():.4f} acc at 35: {acc:.3f}")
