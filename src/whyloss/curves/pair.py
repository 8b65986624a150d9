"""Training and validation judged together."""

from dataclasses import replace
from math import sqrt

import numpy as np

from whyloss.curves.pieces import cut_runs, place
from whyloss.curves.reading import CurveReading
from whyloss.curves.robust import correlated_error, point_noise, running_median, shortened, thinned, trend
from whyloss.curves.single import read_curve

ENOUGH = 25_000  # points of a curve: a rise that lasts shows in as many


def read_pair(
    train_steps, train, val_steps, val, *, baseline=None, floor=None, learning_rate=None, fit=None, check=None, outlines=(None, None)
) -> CurveReading:
    """Label of training and validation together; numbers and steps are the validation's unless training is at fault.

    learning_rate: one per training value; fit, check: readings of the two curves, where they are known already; outlines: their Outlines.
    """
    fit = fit or read_curve(train_steps, train, baseline=baseline, floor=floor, learning_rate=learning_rate)
    check = check or read_curve(val_steps, val, baseline=baseline, floor=floor)
    gap = f"training {fit.first:.4g} to {fit.last:.4g}, validation {check.first:.4g} to {check.last:.4g}"
    runs, broken = cut_runs(val_steps, val, None, outlines[1]), ("non-finite", "not-a-loss-curve")
    if fit.label in broken + ("diverged", "oscillating") or "flat" in fit.label + "".join(fit.also):
        return replace(fit, detail=f"training: {fit.detail}")
    if check.label in broken or not runs or runs[-1][1].size < 5:
        return replace(check, detail=f"validation: {check.detail}", **{} if check.label in broken else {"label": "too-short-to-tell", "also": ()})
    rise = rise_after_best(*runs[-1][:2], *cut_runs(train_steps, train, None, outlines[0])[-1][:2])
    begin, end = place(runs[-1][0][0]), place(runs[-1][0][-1])
    if rise:
        turn, best, last, sure = rise
        return replace(
            check,
            label="overfitting",
            also=(),
            turning_step=turn,
            first_bad_step=None,
            best=best,
            last=last,
            confidence=sure,
            events=(),
            segments=((begin, turn, "falling"), (turn, end, "rising")),
            detail=f"validation rose from {best:.4g} at step {turn} to {last:.4g} while training fell to {fit.last:.4g}",
        )
    near = check.last < fit.last + max(0.25 * (fit.first - fit.last), 0.15 * abs(fit.last))
    # where validation gained far more than training, the first training value is the mean of an epoch that had already taught most of it
    ahead = check.last * fit.first < 0.7 * check.first * fit.last and check.first > 0 < fit.first
    if not ahead and fit.label == "plateau-high" and check.label in ("plateau-high", "too-short-to-tell", "healthy") and near:
        return replace(fit, label="underfitting", also=("plateau-high",), confidence=0.6 * fit.confidence, detail=f"both level off high: {gap}")
    if check.label == "flat-from-start" and fit.first - check.last > 0.5 * (fit.first - fit.last) > 0:
        return replace(fit, detail=f"training: {fit.detail}; validation level at {check.last:.4g}, below where training began")
    if check.label == "flat-from-start" and fit.first - fit.last > 0.3 * abs(fit.first):
        return replace(check, confidence=min(0.5, check.confidence), detail=f"validation never moved while training fell: {gap}")
    if "too-short-to-tell" == fit.label or "flat" in check.label or check.label == "diverged" or fit.label == check.label == "still-improving":
        return replace(fit if fit.label == "too-short-to-tell" else check, detail=f"{gap}; validation: {check.detail}")
    also, sure = tuple(sorted({fit.label, check.label} - {"healthy", "too-short-to-tell"})), min(fit.confidence, max(check.confidence, 0.3))
    return replace(check, label="healthy", also=also, detail=f"no lasting rise of validation: {gap}", confidence=sure)


def rise_after_best(x, y, fit_x, fit_y):
    """(step of the minimum, its level, last level, confidence) when validation truly rose while training fell; the minimum of noise never counts."""
    (x, y), (fit_x, fit_y) = shortened(x, y, ENOUGH), shortened(fit_x, fit_y, ENOUGH)
    smooth = running_median(y, max(1, y.size // 16) | 1)
    i, tail = int(np.argmin(smooth)), y[-max(2, min(y.size // 8, 200)) :]
    after, fit = y[i:], fit_y[np.searchsorted(fit_x, x[i]) :]
    level, last = float(np.median(y[max(0, i - 1) : i + 2])) if y.size >= 20 else float(smooth[i]), float(np.median(tail))
    needed = max(0.05 * abs(level), 0.03 * (float(y[:3].max()) - level), 3.75 * max(point_noise(y), point_noise(after)) / sqrt(tail.size), 1e-300)
    if y.size >= 48:  # enough to see that neighbours are alike: the tail is then fewer points than it seems
        needed = max(needed, 3 * correlated_error(y[y.size // 4 :], tail.size))
    if min(after.size, fit.size) >= 4 and last - level > needed and trend(*thinned(x[i:], after, 60))[1] > (2.0 if after.size <= 8 else 2.6):
        k = max(2, fit.size // 4)
        falls = float(np.median(fit[:k]) - np.median(fit[-k:])) > 1.5 * point_noise(fit) / sqrt(k)
        j = int(np.argmin(y))      # what people mark; of few points only, and only where it is no outlier of the smooth curve
        turn = j if y.size <= 200 and smooth[j] - smooth[i] <= 2 * point_noise(y) and j <= y.size - 4 else i
        return (place(x[turn]), level, last, (1 - 0.5 * needed / (last - level)) * after.size / (after.size + 4)) if falls else None
