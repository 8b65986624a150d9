"""Does a total equal its terms? Decided by the numbers: a column called "mean_loss" may be a sum, one called "loss" may be a term."""

import numpy as np

from whyloss.logged import LoggedSeries

MOST_ROWS = 4096  # compared rows, evenly picked: enough to tell, and memory stays small
TOLERANCE = 2e-3  # logs round to three or four digits


def _matrix(series: list[LoggedSeries]) -> np.ndarray | None:
    """(rows, series) values at shared steps, or None where fewer than three are shared."""
    first = series[0]
    if all(len(s) == len(first) and np.array_equal(s.steps, first.steps) for s in series[1:]):
        return np.column_stack([s.values for s in series])
    shared, places = first.steps, []
    for s in series[1:]:
        shared = np.intersect1d(shared, s.steps)
    for s in series:
        order = np.argsort(s.steps, kind="stable")
        places.append(order[np.searchsorted(s.steps[order], shared, side="right") - 1] if shared.size else order[:0])
    return np.column_stack([s.values[p] for s, p in zip(series, places)]) if shared.size >= 3 else None


def combination(total: LoggedSeries, terms: list[LoggedSeries]) -> str:
    """ "sum", "mean", "weighted sum" or "": how the terms make the total."""
    table = _matrix([total, *terms]) if len(terms) > 1 else None
    if table is None:
        return ""
    table = table[(np.abs(table) < 1e100).all(1)]  # sums of larger ones overflow
    table = table[np.linspace(0, len(table) - 1, min(len(table), MOST_ROWS)).astype(int)] if len(table) else table
    if len(table) < max(3, len(terms)) or not np.any(table[:, 0]):
        return ""
    whole, parts = table[:, 0], table[:, 1:]
    for name, guess in (("sum", parts.sum(1)), ("mean", parts.mean(1))):
        if _close(guess, whole):
            return name
    if len(table) < 3 * len(terms) + 3:
        return ""
    scale = np.abs(whole) + 1e-300
    try:
        weights = np.linalg.lstsq(np.clip(parts / scale[:, None], -1e100, 1e100), whole / scale, rcond=None)[0]
    except np.linalg.LinAlgError:
        return ""
    return "weighted sum" if _close(parts @ weights, whole) and np.all(weights > -1e-6) else ""


def _close(guess, whole) -> bool:
    off = np.abs(guess - whole) / np.maximum(np.abs(whole), 1e-12 * np.abs(whole).max() + 1e-300)
    return bool(np.quantile(off, 0.9) < TOLERANCE)


def summed(terms: list[LoggedSeries]) -> LoggedSeries | None:
    """The sum of terms at shared steps, named "a + b"; None where they share fewer than three steps."""
    table = _matrix(terms)
    if table is None:
        return None
    first = terms[0]
    same = len(table) == len(first) and all(np.array_equal(first.steps, t.steps) for t in terms)
    steps = first.steps
    for t in terms[1:]:
        steps = steps if same else np.intersect1d(steps, t.steps)
    return LoggedSeries(
        " + ".join(t.name for t in terms), steps, table.sum(1), first.step_unit, first.epochs if same else None, first.seconds if same else None
    )
