"""One curve: cut into runs, each judged, the one that counts chosen."""

from dataclasses import replace
from math import nan

import numpy as np

from whyloss.curves.outline import Outline
from whyloss.curves.pieces import cut_runs, place
from whyloss.curves.reading import CurveReading
from whyloss.curves.rules import RULES
from whyloss.curves.shape import Curve

LONG = 2**15  # points; a longer curve is judged by this many of them
STRETCH = 64


def read_curve(steps, values, *, baseline=None, floor=None, learning_rate=None, smoothed_window=None, outline=None) -> CurveReading:
    """Label of one loss curve. baseline: loss of the best constant guess; floor: lowest reachable loss; learning_rate: one per value;
    outline: Outline of these very arrays, where one was taken already."""
    runs = cut_runs(steps, values, learning_rate, outline)
    if not runs:
        return CurveReading("too-short-to-tell", detail="no values")
    readings = [read_piece(x, y, lr, baseline, floor, smoothed_window, outline if outline and outline.y is y else Outline(x, y)) for x, y, lr in runs]
    chosen = max((i for i, run in enumerate(runs) if run[1].size >= 20), default=len(runs) - 1)
    others = tuple((place(run[0][0]), place(run[0][-1]), f"run: {r.label}") for run, r in zip(runs, readings) if r is not readings[chosen])
    detail = readings[chosen].detail + f"; run {chosen + 1} of {len(runs)} in this log" * bool(others)
    return replace(readings[chosen], segments=others + readings[chosen].segments, detail=detail)


def stretches(n):
    """Indices of stretches of neighbours, evenly placed, LONG in all, both ends included: levels, noise and its correlation stay.

    Medians of blocks would hide the noise, single points its correlation; spikes are looked for in the whole curve.
    """
    count = LONG // STRETCH
    return (np.linspace(0, n - STRETCH, count).astype(int)[:, None] + np.arange(STRETCH)).ravel()


def read_piece(x, y, lr, baseline, floor, window, outline):
    if outline.finite:
        if y.size < 3 or y.size < 5 and np.ptp(y) > 0:
            return CurveReading("too-short-to-tell", detail=f"{y.size} values", first=float([*y, nan][0]), last=float([nan, *y][-1]))
        if outline.most > 1e100 or outline.least < -1e100:
            y = np.clip(y, -1e100, 1e100)  # squares stay finite
            outline = Outline(x, y)
        if y.size > LONG:
            picked = stretches(y.size)
            curve = Curve(x[picked], y[picked], None if lr is None else lr[picked], baseline, floor, window, whole=outline)
        else:
            curve = Curve(x, y, lr, baseline, floor, window)
        return next(filter(None, (rule(curve) for rule in RULES)))
    good = np.isfinite(y)
    rest = read_piece(x[good], y[good], None if lr is None else lr[good], baseline, floor, window, Outline(x[good], y[good]))
    i = int(np.argmin(good))
    before, later = np.abs(y[:i]), int(good[i:].sum())
    grew = i and before[-3:].max() > 3 * np.median(before[-50:-3] if i > 6 else before[:1])
    how = f"it grew before, to {y[i - 1]:.4g}" if grew else f"sudden, {y[i - 1]:.4g} just before" if i else "the very first value"
    detail = f"first {'NaN' if np.isnan(y[i]) else 'Inf'} at step {place(x[i])}: {how}; {int((~good).sum())} of {y.size} values are not finite"
    also = (rest.label,) if later >= 20 and rest.label != "too-short-to-tell" else ()
    return replace(rest, label="non-finite", also=also, confidence=1.0, detail=detail, first_bad_step=place(x[i]))
