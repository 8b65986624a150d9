import os
import sys

import torch

SEED = int(os.environ.get("SEED", 0))
FACTOR = 0.6
torch.manual_seed(SEED)
double = {"in": 3, "state": 30, "out": 1, "steps": 60}


def make_parameters(sizes, factor):
    mix = torch.randn(sizes["state"], sizes["state"]) / sizes["state"] ** 0.5
    return [
        (0.3 * torch.randn(sizes["in"], sizes["state"])).requires_grad_(),
        (factor * mix).requires_grad_(),
        torch.zeros(sizes["state"], requires_grad=True),
        (0.2 * torch.randn(sizes["state"], sizes["out"])).requires_grad_(),
    ]


def filter_bank(parameters, signal):
    """A linear recurrent filter; returns its answer after the last step."""
    drive, mix, offset, tap = parameters
    state = torch.zeros(len(signal), mix.shape[0])
    for moment in signal.unbind(1):
        state = moment @ drive + state @ mix + offset
    return (state @ tap).squeeze(1)


def signals(n):
    noise = torch.randn(n, double["steps"], 3)
    weights = 0.8 ** torch.arange(double["steps"] - 1, -1, -1)
    return noise, (noise[:, :, 0] * weights).sum(1) - 0.5 * noise[:, -1, 2]


parameters = make_parameters(double, FACTOR)
optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
for update in range(250):
    signal, wanted = signals(32)
    loss = torch.nn.functional.smooth_l1_loss(filter_bank(parameters, signal), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update < 2 or update % 50 == 49:
        print(f"update {update} loss {loss.item():.5g}", file=sys.stdout)
signal, wanted = signals(500)
with torch.no_grad():
    error = filter_bank(parameters, signal) - wanted
print(f"explained {1 - (error.var() / wanted.var()).item():.3f}")
