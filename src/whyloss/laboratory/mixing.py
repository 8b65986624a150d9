"""The line where the samples of a batch first mix: every operation of two passes compared, of which one has another sample."""

import torch
from torch.overrides import TorchFunctionMode

from whyloss.sources import place
from whyloss.sources.structure import tensors_in

LARGEST = 2_000_000   # entries of a result that is kept
MOST = 4000           # results kept


class Ear(TorchFunctionMode):
    """Keeps the results of a pass: (value, line, what it was computed from)."""

    def __init__(self):
        super().__init__()
        self.made: list[tuple] = []
        self.known: dict[int, int] = {}
        self.held: list = []   # kept alive, so that no identity is given twice

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        first = next(tensors_in(result), None) if len(self.made) < MOST else None
        if first is not None and first.is_floating_point() and first.numel() <= LARGEST:
            given = [self.known[id(t)] for t in tensors_in((args, kwargs or {})) if id(t) in self.known]
            self.known[id(first)] = len(self.made)
            self.held.append(first)
            self.made.append((first.detach().clone(), place.here(2), given))
        return result


def first_line(before: Ear, after: Ear, size: int, row: int, moved) -> str | None:
    """"model.py:25": where a result's other rows first changed, or where the number without rows was made that changed them.

    moved  (before, after, axis, row) -> other rows that changed
    """
    if len(before.made) != len(after.made):
        return None
    for (one, where, given), (two, _, _) in zip(before.made, after.made):
        axes = [a for a, n in enumerate(one.shape) if n == size] if one.shape == two.shape else []
        if not axes or not all(moved(one, two, a, row) for a in axes):
            continue
        for at in given:
            shared, other = before.made[at][0], after.made[at][0]
            if size not in shared.shape and shared.shape == other.shape and not torch.equal(shared, other):
                return before.made[at][1] or where
        return where
    return None
