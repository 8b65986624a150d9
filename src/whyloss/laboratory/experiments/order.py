"""Are the columns of the input in another order in each batch? Then sorting them into one order lets the same model learn."""

import itertools

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.pairs import input_key
from whyloss.laboratory.experiments.unread import unread_steps
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan

ROWS, COLUMNS, BATCHES = 8, 8, 4
APART = 4.0      # variance between the columns' means, in units of what a batch of equal columns gives
ALIKE = 0.3      # correlation of the columns' means between two batches, at most
SORTED = 4.0     # squared difference of the means after sorting, in units of their sampling error, at most: the same columns are there


def _given(tape) -> torch.Tensor | None:
    """The numbers that the model is given: of the first root module, else the largest constant of the step."""
    key = input_key(tape)
    if key is not None:
        return tape.constants[key] if tape.constants[key].is_floating_point() else None
    tables = [t for t in tape.constants.values() if t.is_floating_point() and t.dim() >= 2 and not t.requires_grad]
    return max(tables, key=torch.Tensor.numel, default=None)


def _correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a, b]))[0, 1])


def order_changes(batches: list[torch.Tensor]) -> bool:
    """Whether columns clearly differ within each batch (rows, columns), not in the same places from batch to batch, and are the same once sorted."""
    means = [b.mean(0) for b in batches]
    excess = [float(m.var() * len(b) / b.var(0).mean().clamp_min(1e-12)) for m, b in zip(means, batches)]
    pairs = list(itertools.combinations(range(min(len(batches), 8)), 2))
    across = sorted(_correlation(means[i], means[j]) for i, j in pairs)[len(pairs) // 2]
    error = [float(b.var(0).mean()) / len(b) for b in batches]
    apart = sorted(float((means[i].sort()[0] - means[j].sort()[0]).square().mean()) / max(error[i] + error[j], 1e-12) for i, j in pairs)
    return sorted(excess)[len(excess) // 2] > APART and across < ALIKE and apart[len(pairs) // 2] < SORTED


@experiment("align-columns")
def align_columns(lab, asks):
    """The columns of each captured batch sorted by their mean, so that a column stands in one place throughout.

    asks: later_steps  True: are the later steps of a sequence read at all? (the other way to lose what the label depends on)
    """
    if asks.get("later_steps"):
        return unread_steps(lab, "align-columns")
    tapes = list(lab.program.whole_tapes().values())
    given = [x for x in map(_given, tapes) if x is not None and x.dim() >= 2 and len(x) >= ROWS and x[0].numel() >= COLUMNS]
    batches = [x.reshape(len(x), -1).float() for x in given]
    batches = [b for b in batches if b.shape[1] == batches[0].shape[1]]
    if len(batches) < BATCHES:
        raise CannotReplay(f"{len(batches)} batches of rows of numbers were captured, {BATCHES} are needed")
    if not order_changes(batches):
        raise CannotReplay("the columns of the input keep their places from batch to batch")
    known = {id(x) for x in given}

    def change(key, tensor):
        if id(tensor) not in known:
            return tensor
        flat = tensor.reshape(len(tensor), -1)
        return flat[:, flat.float().mean(0).argsort()].reshape(tensor.shape)

    return lab.paired("align-columns", "the columns of each batch sorted into one order", lab.control(),
                      lab.train("align-columns", Plan(change_constant=change)))
