"""A log cut into its runs: sorted, one value per step; resumed runs joined, new runs apart."""

import numpy as np

from whyloss.curves.outline import Outline
from whyloss.curves.robust import point_noise


def place(step):
    """A step as it is told: an int, or, of an axis of fractions of an epoch, a float."""
    step = float(step)
    return int(step) if step.is_integer() else float(f"{step:.6g}")


def cut_runs(steps, values, learning_rate, outline=None):
    """[(steps, values, learning rates or None)]: sorted, one value per step, cut where a new run begins. None is a missing value, NaN is not.

    outline: Outline of these very arrays, where one was taken already.
    """
    columns = [range(len(values)) if steps is None else steps, values] + [learning_rate] * (learning_rate is not None)
    if len({len(c) for c in columns}) > 1:
        raise ValueError("steps, values and learning rates differ in number: " + ", ".join(str(len(c)) for c in columns))
    if all(isinstance(c, np.ndarray) and c.ndim == 1 for c in columns):
        columns = [np.asarray(c, float) for c in columns]
        if (outline or Outline(*columns[:2])).rising:  # without a copy
            return [(*columns, None)[:3]]
    if not isinstance(values, np.ndarray) and any(v is None for v in values):
        columns = [[v for v, loss in zip(c, values) if loss is not None] for c in columns]
    table = np.column_stack([np.asarray(c, float).ravel() for c in columns])
    table = table[np.isfinite(table[:, 0])]
    cuts = np.flatnonzero(np.diff(table[:, 0]) < 0) + 1
    pieces = np.split(table, cuts) if cuts.size <= 1000 else []
    if not pieces or min(map(len, pieces[:-1]), default=5) < 5:  # out of order, not restarted
        pieces = [table[np.argsort(table[:, 0], kind="stable")]]
    runs = []
    for run in joined(pieces) if len(table) else []:
        kept = np.append(np.diff(run[:, 0]) > 0, True)  # the last value written for a step
        if kept.sum() < len(run) / 2:  # the step is an epoch number: count the values instead
            run[:, 0], kept = np.arange(len(run)), slice(None)
        runs.append((*np.ascontiguousarray(run[kept].T), None)[:3])
    return runs


def joined(pieces):
    """Pieces that continue a run are appended: resumed from a checkpoint (older tail dropped) or steps counted anew in each epoch."""
    done, run = [], [pieces[0]]
    for piece in pieces[1:]:
        begin, end, start = run[0][0, 0], run[-1][-1, 0], piece[0, 0]
        head, tail, new = (float(np.median(p)) for p in (run[0][:3, 1], run[-1][-3:, 1], piece[:3, 1]))
        if start > begin + 0.05 * (end - begin):
            run = [p[p[:, 0] < start] for p in run if p[0, 0] < start] + [piece]
        elif abs(new - head) >= abs(new - tail) - 2 * point_noise(run[-1][:, 1]):
            run.append(piece + np.eye(1, piece.shape[1])[0] * (end + 1 - start))
        else:
            done, run = done + [run], [piece]
    return [np.concatenate(r) for r in done + [run]]
