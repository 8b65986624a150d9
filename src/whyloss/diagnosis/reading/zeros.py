"""NaN that is hidden, and NaN that is none.

Hidden: losses of exactly 0.0 among positive ones (Hugging Face's `logging_nan_inf_filter`, on by default, writes 0.0 for ever).
None: a blank that a table was filled with, where this curve was not logged in that row.
"""

import numpy as np

from whyloss.logged import LoggedSeries

NEVER_NEAR = 0.05  # the positive losses stay above this share of their median: a loss that gets there by learning passes through small values


def hidden_nans(loss: LoggedSeries, gradient_norm: LoggedSeries | None = None) -> tuple[np.ndarray, bool]:
    """(indices of points that are a filtered NaN, certain?). Certain where the gradient norm of such a step was logged as NaN or Inf."""
    nothing, y = np.array([], int), loss.values
    if loss.outline.finite and (loss.outline.least < 0 or not loss.outline.has_zero):  # as nearly always: no walk over millions of points
        return nothing, False
    zero, positive = np.flatnonzero(y == 0.0), np.flatnonzero(y > 0)
    if positive.size < 3 or (y < 0).any():
        return nothing, False
    zero = zero[zero > positive[0]]  # a log may begin with 0.0, before anything was trained
    if not zero.size:
        return nothing, False
    if gradient_norm is not None and len(gradient_norm):
        bad = gradient_norm.steps[~np.isfinite(gradient_norm.values)]
        if np.isin(loss.steps[zero], bad).any():
            return zero, True
    last = y[positive[positive < zero[0]]][-50:]
    # rounded to four digits, a loss that was learned away lingers at 0.0001 before it is 0.0
    small = y[positive].min() < NEVER_NEAR * np.median(last) or np.median(last[-5:]) < 0.01 * y[positive[:5]].max()
    few_values = np.unique(y).size <= max(3, y.size // 20)  # a count or a coarse error reaches 0 rightly
    return (nothing, False) if small or few_values or last.size < 3 and zero.size < 3 else (zero, False)


def without_blanks(series: LoggedSeries) -> LoggedSeries:
    """The series without the NaNs that mean "not logged in this row": before its first value, or in a fixed rhythm between its values."""
    if series.outline.finite:
        return series
    good = np.isfinite(series.values)
    at = np.flatnonzero(good)
    if at.size < 3 or np.isinf(series.values).any():
        return series
    gaps = np.diff(at)
    rhythm = np.median(gaps) > 1 and np.mean(gaps == np.median(gaps)) > 0.8 and good.size - at[-1] <= gaps.max()
    # at the start only a few rows: a loss that is NaN for long and then a number was never seen to recover like that
    late = bool(good[at[0] :].all()) and 0 < at[0] <= max(2, good.size // 10)
    if not rhythm and not late:
        return series
    pick = [None if a is None else a[good] for a in (series.epochs, series.seconds)]
    return LoggedSeries(series.name, series.steps[good], series.values[good], series.step_unit, *pick)
