import math
import os

import torch
from torch import nn

torch.manual_seed(int(os.environ.get("SEED", 0)))

LENGTH, UNITS = 100, 24


def first_sign(count):
    """A noise sequence; the label says whether its first value is +1 or -1."""
    noise = 0.05 * torch.randn(LENGTH, count, 1)
    sign = torch.randint(0, 2, (count,))
    noise[0, :, 0] = 2.0 * sign - 1
    return noise, sign


def build():
    rnn = nn.RNN(1, UNITS, nonlinearity="tanh")
    readout = nn.Linear(UNITS, 2)
    with torch.no_grad():
        rnn.weight_hh_l0.copy_(0.3 * torch.eye(UNITS))
        rnn.bias_hh_l0.fill_(0)
        rnn.bias_ih_l0.fill_(0)
    return nn.ModuleDict({"rnn": rnn, "readout": readout})


def logits_of(model, sequence):
    outputs, last = model["rnn"](sequence)
    return model["readout"](last.squeeze(0))


model = build()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
smooth = math.log(2)
for step in range(1, 201):
    sequence, sign = first_sign(32)
    loss = nn.functional.cross_entropy(logits_of(model, sequence), sign)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    smooth = 0.95 * smooth + 0.05 * loss.item()
    if step % 50 == 0 or step == 1:
        print(f"step {step} smoothed loss {smooth:.4f}")

sequence, sign = first_sign(400)
with torch.no_grad():
    print(f"accuracy {(logits_of(model, sequence).argmax(1) == sign).float().mean():.3f}")
