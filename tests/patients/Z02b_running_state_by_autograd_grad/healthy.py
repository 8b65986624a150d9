"""Predict the next value of a noisy oscillation; the state runs on through the whole record."""
import math
import os

import torch

torch.manual_seed(int(os.environ.get("SEED", 0)))
STATE, WINDOW, RATE = 20, 10, 0.05


def record(length):
    clock = torch.arange(length) * 0.37
    return torch.sin(clock) * (1 + 0.5 * torch.sin(clock / 6)) + 0.05 * torch.randn(length)


def fresh():
    return {
        "see": 0.5 * torch.randn(1, STATE),
        "keep": torch.randn(STATE, STATE) / math.sqrt(STATE) * 0.8,
        "bias": torch.zeros(STATE),
        "tell": 0.3 * torch.randn(STATE, 1),
    }


def unroll(weights, state, values):
    told = []
    for value in values:
        state = torch.tanh(value.view(1, 1) @ weights["see"] + state @ weights["keep"] + weights["bias"])
        told.append((state @ weights["tell"]).view(()))
    return torch.stack(told), state


def descend(weights, loss):
    gradients = torch.autograd.grad(loss, list(weights.values()))
    size = torch.sqrt(sum((g * g).sum() for g in gradients))
    factor = RATE * min(1.0, 1.0 / (float(size) + 1e-6))
    return {name: (w - factor * g).detach().requires_grad_() for (name, w), g in zip(weights.items(), gradients)}


series = record(60 * WINDOW + 1)
weights = {name: w.requires_grad_() for name, w in fresh().items()}
state = torch.zeros(1, STATE)
errors = []
for begin in range(0, 60 * WINDOW, WINDOW):
    told, state = unroll(weights, state.detach(), series[begin : begin + WINDOW])
    loss = torch.mean((told - series[begin + 1 : begin + WINDOW + 1]) ** 2)
    weights = descend(weights, loss)
    errors.append(loss.item())
    if begin % (10 * WINDOW) == 0:
        print(f"window {begin // WINDOW} error {errors[-1]:.4f}")
print(f"mean of the last ten windows {sum(errors[-10:]) / 10:.4f}")
