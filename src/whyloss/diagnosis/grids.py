"""The numbers behind the report's pictures, thinned so that a report of 1000 layers over 100 000 steps stays small."""

import math

import numpy as np

from whyloss.evidence import Evidence, Series
from whyloss.report import Grid

BY_LAYER = ("grad_norm", "update_ratio", "weight_norm", "activation_std", "dead_share", "saturated_share")
CELLS = 24_000    # numbers of one quantity
SUBJECTS = 2000   # rows of one quantity
BUCKETS = 1000    # of a curve: the lowest and the highest point of each are kept
COLUMNS = 120     # steps of a quantity by layer, at most
FEW = 6           # and at least


def grids(evidence: Evidence, run: str = "main") -> tuple[Grid, ...]:
    """Losses, learning rates and what was seen by layer, then the curves of the experiments that are drawn by themselves."""
    found = [_curve(series) for quantity in ("loss", "val_loss") for series in [evidence.series(quantity, run=run)] if series]
    found += [_curve(series) for series in list(evidence.by_subject("learning_rate", run).values())[:6]]
    order = {name: at for at, name in enumerate(evidence.by_subject("layer", run))}
    for quantity in BY_LAYER:
        rows = {name: series for name, series in evidence.by_subject(quantity, run).items() if name != "run"}
        if rows:  # in the order in which the model calls the modules: gradients are first seen from the back
            found.append(_table(quantity, {name: rows[name] for name in sorted(rows, key=lambda name: _depth(name, order))}, run))
    for arm in ("overfit/control", "overfit/changed", "lr-range"):
        for quantity in ("loss", "sweep_rate", "at_minimum", "steepest", "suggested"):
            found += [_curve(series) for series in [evidence.series(quantity, run=arm)] if series]
    return tuple(found)


def _depth(name: str, order: dict[str, int]) -> tuple[int, bool]:
    """Where a module, or the module of a parameter, stands; its bias behind its weight."""
    return order.get(name, order.get(name.rpartition(".")[0], len(order))), name.endswith("bias")


def _number(value) -> float | None:
    if not isinstance(value, (int, float)):
        return None
    return float(f"{value:.5g}") if math.isfinite(value) else float(value)


def _curve(series: Series) -> Grid:
    """One series over its own steps: spikes survive thinning, and so does the first non-finite point of a bucket."""
    values, kept = series.array(), range(len(series))
    if len(values) > 2 * BUCKETS:
        kept = set()
        for part in np.array_split(np.arange(len(values)), BUCKETS):
            good, bad = part[np.isfinite(values[part])], part[~np.isfinite(values[part])]
            kept |= {int(i) for i in bad[:1]} | ({int(good[values[good].argmin()]), int(good[values[good].argmax()])} if len(good) else set())
    kept = sorted(kept, key=lambda i: (series.steps[i], i))
    return Grid(series.quantity, (series.subject,), tuple(int(series.steps[i]) for i in kept), (tuple(_number(series.values[i]) for i in kept),),
                series.run, (len(series), 1))


def _spread(items: list, most: int) -> list:
    """At most `most` of them, evenly chosen, first and last kept."""
    if len(items) <= most:
        return list(items)
    return [items[i] for i in sorted({round(k * (len(items) - 1) / (most - 1)) for k in range(most)})]


def _table(quantity: str, rows: dict[str, Series], run: str) -> Grid:
    names = _spread(list(rows), SUBJECTS)
    steps = sorted({int(step) for series in rows.values() for step in series.steps})
    seen = len(steps), len(rows)
    steps = _spread(steps, max(FEW, min(COLUMNS, CELLS // len(names))))
    values = []
    for name in names:
        known = dict(zip(rows[name].steps, rows[name].values))
        values.append(tuple(_number(known.get(step)) for step in steps))
    return Grid(quantity, tuple(names), tuple(steps), tuple(values), run, seen)
