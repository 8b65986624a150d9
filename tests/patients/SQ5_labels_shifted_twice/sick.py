import os
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))


@dataclass
class Output:
    loss: torch.Tensor
    logits: torch.Tensor


class CausalLM(nn.Module):
    """Returns its loss when given labels; the labels are the tokens themselves and are shifted here."""

    def __init__(self, vocab, width=40):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(64, width)
        layer = nn.TransformerEncoderLayer(width, 4, 80, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.lm_head = nn.Linear(width, vocab, bias=False)

    def forward(self, input_ids, labels=None):
        length = input_ids.shape[1]
        h = self.tokens(input_ids) + self.positions(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        logits = self.lm_head(self.body(h, mask=mask, is_causal=True))
        loss = None
        if labels is not None:
            shifted = logits[:, :-1].contiguous()
            loss = F.cross_entropy(shifted.view(-1, shifted.shape[-1]), labels[:, 1:].reshape(-1), ignore_index=-100)
        return Output(loss, logits)


def sentences(count, length=18):
    """Each token picks one of three successors, so two steps ahead there are nine."""
    successors = torch.randint(0, 40, (40, 3), generator=torch.Generator().manual_seed(3))
    rows = torch.randint(0, 40, (count, length))
    for t in range(1, length):
        rows[:, t] = successors[rows[:, t - 1], torch.multinomial(torch.tensor([0.8, 0.15, 0.05]), count, replacement=True)]
    return rows


def collate(rows):
    input_ids = torch.stack(list(rows))
    labels = torch.cat([input_ids[:, 1:], torch.full((len(rows), 1), -100)], 1)
    return {"input_ids": input_ids, "labels": labels}


corpus = sentences(1500)
loader = torch.utils.data.DataLoader(list(corpus), batch_size=32, shuffle=True, collate_fn=collate)
model = CausalLM(40)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
for epoch in range(3):
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    test = sentences(200)
    right = (model(test).logits[:, :-1].argmax(-1) == test[:, 1:]).float().mean().item()
print("next token right", right)
