"""Accumulated gradients averaged in place of added."""

from collections import Counter

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.lab import STEPS, experiment
from whyloss.laboratory.sandbox import Plan

_SCALING = {"div", "true_divide", "truediv", "mul", "multiply", "rtruediv", "rdiv", "rmul", "itruediv", "idiv", "imul"}


def cycles(events, tapes) -> list[list[int]]:
    """Windows of the backward passes that precede each step, for as long as all of them were captured. Raises CannotReplay."""
    whole, current = [], []
    for event in events:
        if event.kind == "backward":
            current.append(event.window)
        elif event.kind == "update":
            raise CannotReplay("the loop changes gradients or weights by hand between backward and step")
        elif event.kind == "step" and current:
            if any(at not in tapes for at in current):
                break
            whole.append(current)
            current = []
    return whole


def divided(tape, count: int) -> bool:
    """Whether a number of at least `count` divides a tensor of the step outside of the model, or as small a share multiplies one."""
    for node in tape.nodes:
        if node.module is not None or node.name.strip("_") not in _SCALING:
            continue
        numbers = [a for a in node.args if isinstance(a, (int, float)) and not isinstance(a, bool)]
        numbers += [float(tape.constants[r]) for r in node.inputs if isinstance(r, int) and tape.constants[r].numel() == 1]
        by_product = "mul" in node.name
        if any(0 < abs(n) <= 1.01 / count if by_product else abs(n) >= 0.99 * count for n in numbers):
            return True
    return False


@experiment("average-accumulated")
def average_accumulated(lab, asks):
    """The same calls with each loss divided by how many backward passes its step sums."""
    tapes = lab.program.whole_tapes()
    whole = cycles(lab.program.events, tapes)
    if not whole:
        raise CannotReplay("no step was captured with all of its backward passes")
    count, times = Counter(len(c) for c in whole).most_common(1)[0]
    windows = [at for c in whole for at in c]
    if count < 2 or times < 0.7 * len(whole):
        raise CannotReplay("the number of backward passes a step is not constant")
    if len({tapes[at].place for at in windows}) > 1:
        raise CannotReplay("different losses are differentiated before each step")
    first = tapes[windows[0]]
    if first.gradient is not None or divided(first, count):
        raise CannotReplay("the loss is divided already")
    if len({_batch(tapes[at]) for at in windows}) == 1 and len(windows) > 1:
        raise CannotReplay("the accumulated passes are on one and the same batch")
    steps = STEPS * min(4, max(1, count // 2))
    control = lab.train("control", Plan(windows=windows), steps=steps)
    changed = lab.train("average-accumulated", Plan(windows=windows, loss_scale=1 / count), steps=steps)
    return lab.paired("average-accumulated", f"each loss divided by the {count} that a step sums", control, changed)


def _batch(tape) -> tuple:
    """The constants of a step by content, coarsely."""
    return tuple((tuple(t.shape), float(t.double().sum())) for t in tape.constants.values() if isinstance(t, torch.Tensor) and not t.is_complex())
