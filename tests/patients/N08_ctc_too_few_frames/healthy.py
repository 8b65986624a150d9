"""CTC on short synthetic recordings."""
import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
CLASSES, FRAMES, LETTERS = 6, 24, 5
proto = torch.randn(CLASSES, 8)


def sample(n):
    xs, ys, lengths = [], [], []
    for _ in range(n):
        word = torch.randint(1, CLASSES, (LETTERS,))
        frames = proto[word].repeat_interleave(FRAMES // LETTERS + 1, 0)[:FRAMES]
        frames = torch.cat([frames, torch.zeros(FRAMES - len(frames), 8)])
        xs.append(frames + 0.2 * torch.randn(FRAMES, 8))
        ys.append(word)
        lengths.append(len(word))
    return torch.stack(xs), torch.cat(ys), torch.tensor(lengths)


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 32, 4, stride=2, padding=1)
        self.rnn = nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, CLASSES)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1)


net = Acoustic()
ctc = nn.CTCLoss(blank=0)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(250):
    x, y, lengths = sample(16)
    logp = net(x)
    frames = torch.full((len(x),), logp.shape[1])
    loss = ctc(logp.transpose(0, 1), y, frames, lengths)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == 249:
        print(f"step {step} ctc {loss.item():.4f}")
