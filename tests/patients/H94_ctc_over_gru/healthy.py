"""Line recogniser on synthetic glyph strips with CTC."""
import os
import torch
from torch import nn

seed = int(os.environ.get("SEED", "0"))
torch.manual_seed(seed)
C = 8                                    # glyphs, 0 is the blank
GLYPHS = (torch.rand(C, 8, 5) > 0.5).float()


def make_lines(n, width=36):
    imgs, targets, lens = torch.zeros(n, 8, width), [], []
    for k in range(n):
        length = int(torch.randint(3, 6, ()))
        ids = torch.randint(1, C + 1, (length,))
        x = int(torch.randint(0, 3, ()))
        for g in ids:
            imgs[k, :, x:x + 5] = GLYPHS[g - 1]
            x += 5 + int(torch.randint(1, 3, ()))
        targets.append(ids)
        lens.append(length)
    return imgs + 0.15 * torch.randn_like(imgs), torch.cat(targets), torch.tensor(lens)


class Recogniser(nn.Module):
    def __init__(self, h=40):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(8, 48, 5, padding=2), nn.ReLU())
        self.rnn = nn.GRU(48, h, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * h, C + 1)

    def forward(self, x):
        f = self.conv(x).transpose(1, 2)
        return self.out(self.rnn(f)[0]).log_softmax(-1).transpose(0, 1)     # T, N, C


def greedy(logp):
    best = logp.argmax(-1).T
    res = []
    for row in best.tolist():
        prev, seq = 0, []
        for s in row:
            if s != prev and s != 0:
                seq.append(s)
            prev = s
        res.append(seq)
    return res


model, ctc = Recogniser(), nn.CTCLoss(blank=0)
opt = torch.optim.Adam(model.parameters(), lr=1.5e-3)
test = make_lines(200)
for step in range(1, 381):
    x, y, ln = make_lines(32)
    logp = model(x)
    loss = ctc(logp, y, torch.full((len(x),), logp.size(0)), ln)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    if step % 38 == 0:
        with torch.no_grad():
            hyp = greedy(model(test[0]))
        ref = [t.tolist() for t in test[1].split(test[2].tolist())]
        exact = sum(h == r for h, r in zip(hyp, ref)) / len(ref)
        emitted = sum(map(len, hyp)) / len(hyp)
        print(f"step {step:4d}  ctc {loss.item():.3f}  exact {exact:.3f}  symbols per line {emitted:.2f}")
