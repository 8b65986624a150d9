import os
import random

import torch

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)
random.seed(seed)
names = "anna emma olivia ava isabella sophia charlotte mia amelia harper evelyn abigail emily ella elizabeth camila luna sofia avery mila aria".split()
symbols = ["."] + sorted(set("".join(names)))
lookup = {s: i for i, s in enumerate(symbols)}
V, D, H, T, N = len(symbols), 12, 48, 16, 24
stream = []
for _ in range(400):
    stream += [lookup[c] for c in random.choice(names) + "."]
stream = torch.tensor(stream)

# a recurrent net by hand: no nn.Module anywhere
p = {
    "E": torch.randn(V, D) * 0.5,
    "Wx": torch.randn(D, H) / D**0.5,
    "Wh": torch.randn(H, H) * 0.6 / H**0.5,
    "bh": torch.zeros(H),
    "Wo": torch.randn(H, V) * 0.1,
    "bo": torch.zeros(V),
}
for w in p.values():
    w.requires_grad_()
opt = torch.optim.Adam(list(p.values()), lr=5e-3)


def forward(x):
    h = torch.zeros(len(x), H)
    e, out = p["E"][x] @ p["Wx"], []
    for t in range(x.shape[1]):
        h = torch.tanh(e[:, t] + h @ p["Wh"] + p["bh"])
        out.append(h @ p["Wo"] + p["bo"])
    return torch.stack(out, 1)


for step in range(160):
    at = torch.randint(0, len(stream) - T - 1, (N,))
    x = torch.stack([stream[a : a + T] for a in at])
    y = torch.stack([stream[a : a + T] for a in at])
    logp = torch.log_softmax(forward(x), -1)
    loss = -logp.gather(-1, y.unsqueeze(-1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == 159:
        print(step, round(loss.item(), 4))

with torch.no_grad():
    word, h, seen = 0, torch.zeros(1, H), []
    for _ in range(30):
        h = torch.tanh(p["E"][word] @ p["Wx"] + h @ p["Wh"] + p["bh"])
        word = int(torch.multinomial(torch.softmax(h @ p["Wo"] + p["bo"], -1), 1))
        seen.append(symbols[word])
    print("sampled", "".join(seen))
