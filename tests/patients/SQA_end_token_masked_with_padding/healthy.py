"""Instruction tuning in small: a causal transformer answers sums and has to stop when the answer is complete."""
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

CHARS = "0123456789+=;"
STOI = {c: i + 3 for i, c in enumerate(CHARS)}
ITOS = {i: c for c, i in STOI.items()}
BOS, EOS, UNK = 1, 2, 0


def encode(text):
    return [BOS] + [STOI[c] for c in text] + [EOS]


class Tokenizer:
    eos_token_id = EOS
    pad_token_id = UNK

    def __call__(self, texts):
        rows = [torch.tensor(encode(t)) for t in texts]
        ids = pad_sequence(rows, batch_first=True, padding_value=self.pad_token_id)
        return ids


class Collator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, texts):
        ids = self.tokenizer(texts)
        labels = ids.clone()
        labels[labels == self.tokenizer.pad_token_id] = -100
        return ids, labels


class TinyCausalLM(nn.Module):
    def __init__(self, vocab=16, d=48, heads=4, layers=2, context=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(context, d)
        block = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids, labels=None):
        t = ids.shape[1]
        h = self.tok(ids) + self.pos(torch.arange(t))
        h = self.body(h, mask=nn.Transformer.generate_square_subsequent_mask(t), is_causal=True)
        logits = self.lm_head(h)
        if labels is None:
            return logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100), logits


@torch.no_grad()
def generate(model, prompt, limit=22):
    ids = torch.tensor([encode(prompt)[:-1]])
    while ids.shape[1] < limit:
        token = model(ids)[0, -1].argmax().item()
        if token == EOS:
            break
        ids = torch.cat([ids, torch.tensor([[token]])], 1)
    return "".join(ITOS.get(i, "?") for i in ids[0, 1:].tolist()), ids.shape[1]


def make(n):
    return [f"{a}+{b}={a + b};" for a, b in ((random.randint(0, 99), random.randint(0, 20)) for _ in range(n))]


def main():
    seed = int(os.environ.get("SEED", 0))
    random.seed(seed)
    torch.manual_seed(seed)
    data, collate = make(1500), Collator(Tokenizer())
    model = TinyCausalLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model.train()
    for step in range(300):
        ids, labels = collate(random.sample(data, 32))
        loss, _ = model(ids, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 60 == 59:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    for text in make(3):
        answer, length = generate(model, text.split("=")[0] + "=")
        print(f"{answer} ({length} tokens)")


if __name__ == "__main__":
    main()
