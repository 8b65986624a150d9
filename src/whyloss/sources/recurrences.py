"""Recurrent matrices of cells written by hand: a square parameter that one step multiplies by again and again, each time what the last time gave."""

import math

from whyloss.sources import stepfacts  # (facts first: the two import each other)

_PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "mm", "linear", "addmm", "einsum", "bmm"}
_GATES = {"sigmoid", "sigmoid_", "hardsigmoid"}
LEAST = 10     # multiplications in a row: fewer are layers that share a weight


def observe(watch, window, loss) -> None:
    """Write `recurrence` for each such parameter: time steps, root mean square singular value, whether gates carry the state past it."""
    ancestors = sorted(stepfacts._made_by(window, window.index.get(id(loss))))
    uses: dict[int, list[int]] = {}
    for at in ancestors:
        step = window.trace[at]
        if step.name in _PRODUCTS:
            for tensor in set(step.inputs):
                leaf = _leaf(window, tensor)
                if leaf is not None:
                    uses.setdefault(leaf, []).append(at)
    gates = sum(window.trace[at].name in _GATES for at in ancestors)
    for leaf, places in uses.items():
        if len(places) < LEAST:
            continue
        behind = set().union(*(stepfacts._made_by(window, tensor) for tensor in window.trace[places[-1]].inputs))
        if sum(at in behind for at in places[:-1]) < 0.8 * (len(places) - 1):
            continue  # side by side, not one after the other
        matrix = window.meta[leaf].tensor.detach().float()
        size = float(matrix.norm()) / math.sqrt(matrix.shape[0])
        watch.observe("recurrence", {"steps": len(places), "size": size, "gated": gates >= len(places),
                                     "place": window.trace[places[0]].place}, watch.name(window.meta[leaf].tensor))


def _leaf(window, tensor: int) -> int | None:
    """The square parameter behind a tensor, looking through transposes."""
    for _ in range(3):
        meta = window.meta[tensor]
        if meta.leaf and meta.wants_grad:
            return tensor if len(meta.shape) == 2 and meta.shape[0] == meta.shape[1] > 1 else None
        if meta.maker < 0 or window.trace[meta.maker].name not in stepfacts.VIEWS or not window.trace[meta.maker].inputs:
            return None
        tensor = window.trace[meta.maker].inputs[0]
    return None
