import argparse
import os
import random

import torch
from torch import nn
from torch.autograd import Variable

PAD, SOS, EOS, BASE = 0, 1, 2, 3


class EncoderRNN(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, src):
        return self.gru(self.embedding(src))[1]


class DecoderRNN(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, tokens, hidden):
        y, hidden = self.gru(self.embedding(tokens), hidden)
        return self.out(y), hidden


def pair(n, digits=8, length=6):
    src = torch.randint(BASE, BASE + digits, (n, length))
    return src, torch.cat([src.flip(1), torch.full((n, 1), EOS)], 1)


def train_step(src, tgt, enc, dec, enc_opt, dec_opt, criterion):
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    hidden = enc(src)
    inputs = torch.cat([torch.full((len(src), 1), SOS), tgt[:, :-1]], 1)
    logits, _ = dec(inputs, hidden)
    loss = criterion(logits.flatten(0, 1), tgt.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(dec.parameters(), 1.0)
    enc_opt.step()
    dec_opt.step()
    return loss.item()


@torch.no_grad()
def exact_match(enc, dec, n=300):
    src, tgt = pair(n)
    hidden, tok, out = enc(src), torch.full((n, 1), SOS), []
    for _ in range(tgt.shape[1]):
        logits, hidden = dec(tok, hidden)
        tok = logits.argmax(-1)
        out.append(tok)
    return (torch.cat(out, 1) == tgt).all(1).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=1000)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=4e-3)
    a = p.parse_args()
    seed = int(os.environ.get("SEED", "0"))
    random.seed(seed)
    torch.manual_seed(seed)
    enc, dec = EncoderRNN(BASE + 8, a.hidden), DecoderRNN(BASE + 8, a.hidden)
    enc_opt = torch.optim.Adam(enc.parameters(), lr=a.lr)
    dec_opt = torch.optim.Adam(dec.parameters(), lr=a.lr)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    total = 0.0
    for it in range(1, a.iters + 1):
        total += train_step(*pair(64), enc, dec, enc_opt, dec_opt, criterion)
        if it % 100 == 0:
            print(f"{it} ({100 * it // a.iters}%) loss {total / 100:.4f} exact {exact_match(enc, dec):.3f}")
            total = 0.0


if __name__ == "__main__":
    main()
