import math
import os

import torch
import torch.nn.functional as F


def attention(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    length = x.shape[1]
    blocked = torch.ones(length, length, dtype=torch.bool).triu(diagonal=1)
    scores = scores.masked_fill(blocked, float("-inf"))
    return scores.softmax(-1) @ v


def predict(p, tokens):
    x = p["embed"][tokens] + p["position"][: tokens.shape[1]]
    x = x + attention(x, p["q"], p["k"], p["v"])
    return F.gelu(x @ p["w1"] + p["b1"]) @ p["w2"]


def main():
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    text = "the cat sat on the mat and the dog lay on the rug while the bird sang to the moon . " * 40
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    n, width, block = len(letters), 32, 16
    shapes = {"embed": (n, width), "position": (block, width), "q": (width, width), "k": (width, width), "v": (width, width),
              "w1": (width, 64), "b1": (64,), "w2": (64, n)}
    p = {name: (torch.randn(shape) / math.sqrt(shape[0]) if len(shape) > 1 else torch.zeros(shape)).requires_grad_() for name, shape in shapes.items()}
    optimizer = torch.optim.Adam(p.values(), lr=3e-3)
    for step in range(250):
        start = torch.randint(0, len(data) - block - 1, (32,))
        tokens = torch.stack([data[s : s + block] for s in start])
        following = torch.stack([data[s + 1 : s + block + 1] for s in start])
        loss = F.cross_entropy(predict(p, tokens).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == 249:
            print(f"{step:4d} {loss.item():.4f}")


main()
