"""What the shape of a logged loss says: one label per curve, one for a train and validation pair, and how sure.

A label is a symptom, never a cause. "Flat" and "levelled off" are claims too: they need numbers tight enough to rule a real
fall out, else the answer is `too-short-to-tell`. Levels are medians; noise comes from second differences (blind to trends),
widened for correlated (smoothed) logs. Rules and measured errors: research note "methods", section 1. Sizes are shares of
`scale`: what the loss could still lose at the start, max(first, baseline) - floor.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, log, nan, sqrt

import numpy as np

FLAT_DROP = 0.012     # a fall smaller than this share of scale is no fall (methods 1.3, rule 8)
SLOW_DROP = 0.08      # less than this in the whole run: not learning in any useful sense (rule 8)
RULED_OUT = 0.12      # "flat" is only said when a fall of this share of scale is excluded by 2 standard errors
LOW, LOW_GUESSED = 0.2, 1 / 3   # low level as share of scale: floor known (1.5); floor unknown, so the doubt is the curve's
FALLEN = "healthy", "still-improving", "plateau-low", "plateau-high", "converged"


@dataclass(frozen=True)
class CurveReading:
    """What one curve says. Levels and noise in loss units, NaN where there is too little; confidence 0..1.

    also        further true labels: a very slow fall is `still-improving`, also `flat-from-start`
    turning_step, first_bad_step    where it levelled off or began to rise; the first non-finite value, blow-up or spike
    segments, events    (first step, last step, "falling", "flat", ... or "run: label" of another run); steps of the spikes
    """

    label: str
    also: tuple[str, ...] = ()
    detail: str = ""
    turning_step: int | None = None
    first_bad_step: int | None = None
    first: float = nan
    last: float = nan
    best: float = nan
    noise: float = nan
    confidence: float = 0.0
    segments: tuple[tuple[int, int, str], ...] = ()
    events: tuple[int, ...] = ()


def read_curve(steps, values, *, baseline=None, floor=None, learning_rate=None, smoothed_window=None) -> CurveReading:
    """Label of one loss curve. baseline: loss of the best constant guess; floor: lowest reachable loss; learning_rate: one per value."""
    runs = _runs(steps, values, learning_rate)
    if not runs:
        return CurveReading("too-short-to-tell", detail="no values")
    readings = [_read_run(x, y, lr, baseline, floor, smoothed_window) for x, y, lr in runs]
    chosen = max((i for i, run in enumerate(runs) if run[1].size >= 20), default=len(runs) - 1)
    others = tuple((int(run[0][0]), int(run[0][-1]), f"run: {r.label}") for run, r in zip(runs, readings) if r is not readings[chosen])
    tail = f"; run {chosen + 1} of {len(runs)} in this log" if others else ""
    return replace(readings[chosen], segments=others + readings[chosen].segments, detail=readings[chosen].detail + tail)


def read_pair(train_steps, train, val_steps, val, *, baseline=None, floor=None) -> CurveReading:
    """Label of training and validation together; numbers and steps are the validation's unless training is at fault."""
    fit, check = (read_curve(x, y, baseline=baseline, floor=floor) for x, y in ((train_steps, train), (val_steps, val)))
    if fit.label in ("non-finite", "not-a-loss-curve", "diverged", "oscillating") or "flat" in fit.label + "".join(fit.also):
        return replace(fit, detail=f"training: {fit.detail}")
    runs = _runs(val_steps, val, None)
    if not runs or runs[-1][1].size < 5 or check.label in ("non-finite", "not-a-loss-curve"):
        short = {} if check.label == "non-finite" else {"label": "too-short-to-tell", "also": (), "confidence": 0.0}
        return replace(check, detail=f"validation: {check.detail}", **short if check.label != "not-a-loss-curve" else {})
    x, y = runs[-1][:2]
    rise = _rise_after_best(x, y)
    if rise and _falls_after(*_runs(train_steps, train, None)[-1][:2], x[rise[0]]):
        turn, best, last = int(x[rise[0]]), *rise[1:3]
        return replace(check, label="overfitting", also=(), turning_step=turn, first_bad_step=None, best=best, last=last, confidence=rise[3],
                       detail=f"validation rose from {best:.4g} at step {turn} to {last:.4g} while training fell to {fit.last:.4g}",
                       segments=((int(x[0]), turn, "falling"), (turn, int(x[-1]), "rising")), events=())
    gap = f"training {fit.first:.4g} to {fit.last:.4g}, validation {check.first:.4g} to {check.last:.4g}"
    if check.label == "diverged":
        return replace(check, detail=f"validation: {check.detail}; training {fit.last:.4g}")
    if fit.label == "plateau-high" and check.label in ("plateau-high", "too-short-to-tell") and check.last < fit.last + 0.25 * (fit.first - fit.last):
        return replace(check, label="underfitting", also=("plateau-high",), turning_step=fit.turning_step, confidence=0.6 * fit.confidence,
                       detail=f"both level off high: {gap}")
    if "flat" in check.label or fit.label == "too-short-to-tell":
        return replace(check, label=check.label if "flat" in check.label else fit.label, confidence=min(check.confidence, fit.confidence), detail=gap)
    if fit.label == check.label == "still-improving":
        return replace(check, detail=f"both still fall: {gap}")
    also = tuple(sorted({fit.label, check.label} - {"healthy", "too-short-to-tell"}))
    return replace(check, label="healthy", also=also, detail=f"no lasting rise of validation: {gap}", confidence=min(fit.confidence, max(check.confidence, 0.3)))


def _rise_after_best(x, y):
    """(index of the minimum, its level, last level, confidence) when validation truly rose since; the minimum of noise alone never counts."""
    smooth = _running_median(y, max(1, y.size // 16) | 1)
    i, tail = int(np.argmin(smooth)), y[-max(2, min(y.size // 8, 200)):]
    after = y[i:]
    level, last = float(np.median(y[max(0, i - 1):i + 2])) if y.size >= 20 else float(smooth[i]), float(np.median(tail))
    needed = max(0.05 * abs(level), 0.03 * (float(np.median(y[:3])) - level), 3.75 * max(_noise(y), _noise(after)) / sqrt(tail.size))
    rises = after.size >= 4 and last - level > needed and _trend(*_thin(x[i:], after, 60))[1] > (2.0 if after.size <= 8 else 2.6)
    return (i, level, last, _sure((last - level) / max(needed, 1e-300), after.size)) if rises else None


def _falls_after(x, y, step):
    y = y[np.searchsorted(x, step):]
    k = max(2, y.size // 4)
    return y.size >= 4 and float(np.median(y[:k]) - np.median(y[-k:])) > 1.5 * _noise(y) / sqrt(k)


def _runs(steps, values, learning_rate):
    """[(steps, values, learning rates or None)]: sorted, one value per step, cut where a new run begins. None is a missing value, NaN is not."""
    columns = [values if steps is None else steps, values] + ([] if learning_rate is None else [learning_rate])
    if len({len(c) for c in columns}) > 1:
        raise ValueError("steps, values and learning rates differ in number: " + ", ".join(str(len(c)) for c in columns))
    if not isinstance(values, np.ndarray) and any(v is None for v in values):
        columns = [[v for v, loss in zip(c, values) if loss is not None] for c in columns]
    table = np.column_stack([np.asarray(c, float).ravel() for c in columns])
    if steps is None:
        table[:, 0] = np.arange(len(table))
    table = table[np.isfinite(table[:, 0])]
    cuts = np.flatnonzero(np.diff(table[:, 0]) < 0) + 1
    pieces = np.split(table, cuts) if cuts.size <= 1000 else []
    if not pieces or min(map(len, pieces[:-1]), default=5) < 5:      # out of order, not restarted
        pieces = [table[np.argsort(table[:, 0], kind="stable")]]
    return [_distinct(run) for run in _join(pieces)] if len(table) else []


def _join(pieces):
    """Pieces that continue a run are appended: resumed from a checkpoint (older tail dropped) or steps counted anew in each epoch."""
    done, run = [], [pieces[0]]
    for piece in pieces[1:]:
        begin, end, start = run[0][0, 0], run[-1][-1, 0], piece[0, 0]
        head, tail, new = (float(np.median(p)) for p in (run[0][:3, 1], run[-1][-3:, 1], piece[:3, 1]))
        if start > begin + 0.05 * (end - begin):
            run = [p[p[:, 0] < start] for p in run if p[0, 0] < start] + [piece]
        elif abs(new - head) >= abs(new - tail) - 2 * _noise(run[-1][:, 1]):
            run.append(piece + np.eye(1, piece.shape[1])[0] * (end + 1 - start))
        else:
            done, run = done + [run], [piece]
    return [np.concatenate(r) for r in done + [run]]


def _distinct(table):
    last = np.append(np.diff(table[:, 0]) > 0, True)
    if last.sum() < len(table) / 2:     # the step is an epoch number: count the values instead
        table[:, 0], last = np.arange(len(table)), slice(None)
    x, y, *lr = np.ascontiguousarray(table[last].T)
    return x, y, lr[0] if lr else None


def _noise(y):
    """Standard deviation from point to point, blind to any smooth trend; robust against spikes."""
    if y.size < 4:
        return float(np.ptp(y)) if y.size else 0.0
    d = np.abs(np.diff(y, 2))
    return float(np.median(d) / 0.6745 or d.mean()) / sqrt(6)


def _running_median(y, width):
    if width > 64:      # long curves: coarse medians, interpolated
        return np.interp(np.arange(y.size), *_thin(np.arange(y.size, dtype=float), y, max(8, 2 * y.size // width)))
    padded = np.concatenate([y[:width // 2][::-1], y, y[y.size - width // 2:][::-1]])
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)


def _thin(x, y, most):
    """Medians of equal counts, at most so many."""
    edges = np.linspace(0, y.size, min(most, y.size) + 1).astype(int)
    return tuple(np.array([np.median(a[i:j]) for i, j in zip(edges, edges[1:])]) for a in (x, y))


def _trend(x, y):
    """(Theil-Sen slope, Mann-Kendall z) of a few points."""
    (i, j), n = np.triu_indices(y.size, 1), y.size
    s = np.sign(y[j] - y[i]).sum()
    return (float(np.median((y[j] - y[i]) / (x[j] - x[i]))), float((s - np.sign(s)) / sqrt(n * (n - 1) * (2 * n + 5) / 18))) if n > 1 else (0.0, 0.0)


def _sure(margin, points):
    """Confidence from how far the deciding number is past its threshold and from the independent points behind it."""
    return float((0.98 - 0.48 * exp(-min(max(margin - 1, 0), 99))) * points / (points + 4))


def _near(value, target, share):
    return target is not None and abs(value - target) <= share * abs(target)


def _named(value, baseline):
    """The number, with the guess among k classes that it is equal to, if any."""
    k = round(exp(value)) if 0.5 < value < 7 else 0
    exact = k >= 2 and abs(value - log(k)) < 0.004 * value and (k <= 20 or k in (100, 1000) or _near(log(k), baseline, 0.001))
    return f"{value:.4g} = ln {k}" if exact else f"{value:.4g}" + (f" (baseline {baseline:.4g})" if baseline is not None else "")


def _read_run(x, y, lr, baseline, floor, window):
    good = np.isfinite(y)
    if not good.all():
        return _non_finite(x, y, good, _read_run(x[good], y[good], None if lr is None else lr[good], baseline, floor, window))
    if y.size < 3:
        return CurveReading("too-short-to-tell", detail=f"{y.size} values", first=float([*y, nan][0]), last=float([nan, *y][-1]))
    curve = _Curve(x, y, lr, baseline, floor, window)
    return next(filter(None, (rule(curve) for rule in _RULES)))


def _non_finite(x, y, good, rest):
    i = int(np.argmin(good))
    before, later = np.abs(y[:i]), int(good[i:].sum())
    grew = i and before[-3:].max() > 3 * np.median(before[-50:-3] if i > 6 else before[:1])
    how = f"it grew before, to {y[i - 1]:.4g}" if grew else f"sudden, {y[i - 1]:.4g} just before" if i else "the very first value"
    return replace(rest, label="non-finite", also=(rest.label,) if later >= 20 and rest.label != "too-short-to-tell" else (), confidence=1.0,
                   detail=f"first {'NaN' if np.isnan(y[i]) else 'Inf'} at step {int(x[i])}: {how}"
                          + (f"; {int((~good).sum())} of {y.size} values are not finite" if later else ""), first_bad_step=int(x[i]))


class _Curve:
    """A finite run and the robust numbers the rules look at. Spans are index ranges (i, j); late means late in steps."""

    def __init__(self, x, y, lr, baseline, floor, window):
        self.x, self.y, self.lr, self.n, self.baseline, self.floor = x, y, lr, y.size, baseline, floor
        self.middle = min(max(self.at(0.5), 3, self.n // 8), self.n - max(2, self.n // 8))
        self.sd, self.tau, self.noise = self._spread(max(float(window or 1), 1.0))
        early = _noise(y[max(0, self.middle - 50000):self.middle])      # correlation shows in the late half, which is not steep
        self.early_noise, self.early_sd = early, early * (self.sd / self.noise if self.noise > 0 else 1.0)
        self.end = min(self.at(0.8), self.n - min(3, self.n)), self.n
        self.last, self.tail = self.level(*self.end), self.level(self.n - max(3, self.n // 40), self.n)
        self.start = self._start()
        self.first = self.level(*self.start)
        self.bx, self.by = self._blocks()
        self.low, self.best = int(np.argmin(self.by)), float(self.by.min())
        bottom = floor if floor is not None else (0.0 if y.min() >= 0 else None)
        self.top = max(self.first, baseline if baseline is not None else -inf)
        self.scale = self.top - bottom if bottom is not None and self.top > bottom else max(abs(self.top), self.top - self.best) or 1.0
        self.share = None if bottom is None else (self.last - bottom) / self.scale
        self.where = f"from step {self.step(0)} to {self.step(self.n)}"

    def at(self, share):
        return int(np.searchsorted(self.x, self.x[0] + share * (self.x[-1] - self.x[0])))

    def level(self, i, j):
        return float(np.median(self.y[i:j]))

    def step(self, i):
        return int(self.x[min(int(i), self.n - 1)])

    def _spread(self, tau):
        """Of the late half: sd, points per independent point, noise. Correlated logs get the sd about their own parabola."""
        y = self.y[self.middle:]
        y = y[max(0, y.size // 2 - 25000):y.size // 2 + 25000]
        noise, t = _noise(y), np.linspace(-1, 1, y.size)
        if y.size < 12:
            return noise, tau, noise
        r = np.clip(y, *np.quantile(y, [0.02, 0.98]))
        r = r - np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, r, 2))
        r1 = float(r[1:] @ r[:-1]) / (float(r @ r) or 1.0)
        r1 = min(r1 + (1 + 4 * max(r1, 0)) / y.size, 0.995)
        return (max(noise, float(r.std())), max(tau, (1 + r1) / (1 - r1)), noise) if r1 > 0.3 else (noise, tau, noise)

    def error(self, *span):
        """Standard error of the median of a span, or of the difference between two such."""
        if len(span) == 4:
            return sqrt(self.error(*span[:2]) ** 2 + self.error(*span[2:]) ** 2)
        return 1.25 * (self.sd if span[0] >= self.middle else self.early_sd) * sqrt(min(1.0, self.tau / max(span[1] - span[0], 1)))

    def _start(self):
        """The span that shows the untrained loss: one point where the loss moved at once, else a few."""
        y, few, some = self.y, self.level(0, 3), max(3, min(self.n // 16, 12))
        noise, next_ones = max(self.noise * min(max(1.0, abs(y[0] / (self.last or 1.0))), 10.0), _noise(y[1:12])), self.level(1, 4)
        shot = y[0] > 0 and next_ones > 3 * y[0] and (next_ones > y[0] + 6 * noise or next_ones > 3 * (self.baseline or inf))
        if self.n > 4 and (shot or y[0] - y[1:4].max() > 4 * noise):
            return 0, 1
        return 0, 3 if abs(few - self.level(0, some)) > 3 * noise else some

    def _blocks(self):
        """First steps and medians of about 40 blocks of equal step width, so that a gap in the log is no distortion."""
        if self.n < 24:
            return self.x, _running_median(self.y, 3)
        count, kept = min(40, self.n // 3), [0]
        even = np.searchsorted(self.x, np.linspace(self.x[0], self.x[-1], count + 1)[1:-1])
        for edge in np.unique(np.concatenate([even, np.linspace(0, self.n, count // 2 + 1).astype(int)])):
            if edge - kept[-1] >= max(3, self.n // 160) and self.n - edge >= 3:
                kept.append(int(edge))
        return self.x[kept], np.array([self.level(i, j) for i, j in zip(kept, kept[1:] + [self.n])])

    @cached_property
    def fall(self):
        """Largest fall from an early to a late span in units of what noise and size ask for: 1 is significant."""
        early = {(0, k) for k in (3, self.n // 16, self.n // 8, self.n // 4, self.middle) if 3 <= k <= self.n // 2} | {self.start}
        late, found = {(min(self.at(s), self.n - 3), self.n) for s in (0.5, 0.75, 0.875, 0.94)}, 0.0
        levels = {span: self.level(*span) for span in early | late}
        for a, b in ((a, b) for a in early for b in late if a[1] <= b[0]):
            z = 4 if min(a[1] - a[0], b[1] - b[0]) >= 8 else 5
            found = max(found, (levels[a] - levels[b]) / max(z * self.error(*a, *b), FLAT_DROP * self.scale))
        return found

    @cached_property
    def late(self):
        """Fall over the late half, its standard error, the share of it in the last quarter, Mann-Kendall z."""
        x, y = _thin(self.x[self.middle:], self.y[self.middle:], 60)
        (slope, z), k, half = _trend(x, y), self.n - self.middle, y.size // 2
        share = _trend(x[half:], y[half:])[0] / slope / 2 if slope and half > 2 else 1.0
        error = 1.3 * self.sd * min(sqrt(12 * self.tau / k), 1.5)
        return -slope * float(self.x[-1] - self.x[self.middle]), error, share, z / sqrt(max(1.0, self.tau * y.size / k))

    @cached_property
    def spikes(self):
        """Indices of upward spikes; none when outliers are too many, too rare, on both sides or only a heavy tail (small batches)."""
        width = max(5, self.n // 40) | 1
        trend = _running_median(self.y, width)
        r = self.y - trend
        mad = 1.4826 * np.maximum(np.median(np.abs(r)), _running_median(np.abs(r), max(9, self.n // 8) | 1))
        bar = np.maximum(np.maximum(7 * mad, 0.25 * self.scale), 0.4 * np.abs(trend)) + np.abs(np.gradient(trend)) * width
        up, down, tail = np.flatnonzero(r > bar), np.sum(r < -bar), np.sum((r > bar / 2) & (r <= bar))
        heads = up[(np.diff(up, prepend=-9) > 2) & (up >= max(3, self.n // 40))]
        clear = tail <= up.size / 2 and max(2, 0.002 * self.n) <= heads.size and max(1, 3 * down) <= up.size <= 0.2 * self.n
        return heads if clear else heads[:0]

    def swings(self):
        """(number, median size) of the rises of the block medians past what noise and spikes make, each followed by as much of a fall."""
        bar = 7.5 * max(self.early_noise, self.noise) / sqrt(self.n / self.by.size)
        bar, sizes, low, high = max(bar, 0.3 * self.scale, 0.2 * abs(self.last)), [], self.by[0], None
        for v in self.by:
            if high is None:
                low, high = min(low, v), v if v > low + bar else None
            elif v < (high := max(high, v)) - bar:
                sizes, low, high = sizes + [high - low], v, None
        return (len(sizes), float(np.median(sizes))) if sizes and sum(sizes) > 0.5 * (self.first - self.best) else (0, 0.0)

    def restarted(self, since):
        """The learning rate rose again after this step: a warm restart, whose jump is meant."""
        return self.lr is not None and self.lr[self.x >= since].max() > 1.5 * self.lr[np.searchsorted(self.x, since)]

    def says(self, label, detail, margin=99.0, phase=None, **more):
        more.setdefault("segments", ((self.step(0), self.step(self.n), phase),) if phase else ())
        return CurveReading(label, detail=detail, first=self.first, last=self.last, best=min(self.best, self.last), noise=self.noise,
                            confidence=_sure(margin, self.n / self.tau), **more)


def _constant_or_tiny(c):
    if np.ptp(c.y) == 0:
        near = _near(c.first, c.baseline, 0.04)
        return c.says("flat-at-baseline" if near else "flat-from-start", f"exactly {_named(c.first, c.baseline)} {c.where}", 99, "flat",
                      also=("flat-from-start",) if near else ())
    return c.says("too-short-to-tell", f"{c.n} values, {c.first:.4g} to {c.last:.4g}", 0) if c.n < 5 and c.last < 10 * abs(c.top) else None


def _diverged(c):
    level, up, k = min(c.last, c.tail), max(c.last, c.tail), max(3, c.n // 40)
    error = 1.75 * max(c.early_noise if c.n < 400 else 0, c.noise) / sqrt(k)
    begin, rest, fell = max(c.y[0], c.baseline or -inf), c.level(1, c.n), c.first - c.best
    jumped = begin > 0 and rest > (2 if c.baseline else 2.5) * begin and (c.y[1:] < c.y[0]).mean() <= 0.01 and level > 1.5 * begin
    jumped = jumped and rest - begin > 6 * c.noise / sqrt(c.n)
    rose = level > 10 * abs(c.top) or up > c.top + 0.35 * c.scale and up > c.best + 0.33 * c.scale and up - c.best > 6 * error
    back = level - c.best > max(0.6 * fell, 8 * error) and fell > 0.3 * c.scale and c.n >= 12 and c.by[-1] - c.best > 0.5 * fell
    if back and c.restarted(c.bx[c.low]) or (back or rose) and c.swings()[0] >= 2 and up < 1.25 * c.by[:max(c.low, c.by.size // 2)].max():
        back = rose = False
    if c.tail < -100 * max(abs(c.first), 1) and c.level(c.at(0.75), c.at(0.85) + 1) - c.tail > 0.5 * (c.first - c.tail):
        return c.says("diverged", f"fell without bound, from {c.first:.4g} to {c.tail:.4g}", 2, "falling", first_bad_step=c.step(c.at(0.75)))
    quarter = c.by.size // 4
    if rose and c.baseline is None and 0 <= c.y.min() and c.y.max() <= 1 and c.low < quarter and np.median(c.by[quarter:2 * quarter]) > (c.first + c.last) / 2 > 0:
        return c.says("not-a-loss-curve", f"rises from {c.first:.3g} to {c.last:.3g} inside 0..1 and levels off, as an accuracy does", 1.5)
    if jumped or rose or back:
        turn = 0 if jumped and not rose else int(np.searchsorted(c.x, c.bx[c.low]))
        bad = turn + int(np.argmax(c.y[turn:] > (c.best + up) / 2))
        return c.says("diverged", f"rose from {c.y[turn]:.4g} at step {c.step(turn)} to {up:.4g}; began at {c.first:.4g}", 1 + (up - c.best) / c.scale,
                      turning_step=c.step(turn), first_bad_step=c.step(bad), segments=((c.step(turn), c.step(c.n), "rising"),))


def _staircase(c):
    """Drops that come with cuts of a constant learning rate, each larger than the fall in the equal window before it."""
    cuts = np.flatnonzero(c.lr[1:] < 0.7 * c.lr[:-1]) + 1 if c.lr is not None and c.n >= 12 else np.array([], int)
    edges, gains = np.concatenate([[0], cuts, [c.n]]).astype(int), []
    for before, cut, after in zip(edges, edges[1:21], edges[2:22]):
        w = int(min(cut - before, after - cut, c.n // 4))
        if w < 4 or np.ptp(c.lr[cut - w:cut]) > 0.05 * c.lr[cut - 1] or np.ptp(c.lr[cut:cut + w]) > 0.05 * c.lr[cut]:
            continue
        left, right = c.y[cut - w // 2:cut], c.y[cut + w - w // 2:cut + w]
        old, new, earlier = np.median(left), np.median(right), c.level(cut - w, cut - w // 2)
        needed = max(6 * sqrt((left.var() + right.var()) / left.size), 0.05 * abs(old), 2 * (earlier - old), 1e-300)
        if old - new > needed:
            gains.append((c.step(cut), (old - new) / needed, f"{old:.4g} to {new:.4g} at step {c.step(cut)}"))
    if gains and 2 * len(gains) >= cuts.size:
        return c.says("learning-rate-limited-plateau", "drops with each cut of the learning rate: " + ", ".join(g[2] for g in gains[:4]),
                      max(g[1] for g in gains), turning_step=gains[0][0])


def _oscillating(c):
    below = float((c.y < 0).mean())
    if 0.2 < below < 0.8 and c.fall < 1:
        return c.says("not-a-loss-curve", f"{below:.0%} of the values are below 0 and there is no trend", 2)
    if c.n < 16 or c.restarted(c.x[c.n // 5]):
        return None
    y = c.y[int(0.3 * c.n):]
    level, ends = float(np.median(y)), [np.median(y[:y.size // 2]), np.median(y[y.size // 2:])]
    low, mid, high = np.quantile(y - np.interp(np.arange(y.size), [0, y.size - 1], ends), [0.1, 0.5, 0.9])
    spread, turns = high - low, np.diff(y)
    if level - c.top > -0.75 * c.scale and (mid - low) / 3 <= high - mid <= 3 * (mid - low) and abs(ends[1] - ends[0]) < spread / 2:
        bounces = (turns[1:] * turns[:-1] < 0).mean() > 0.9 and spread > max(0.1 * abs(level), 0.05 * c.scale)
        if bounces or spread > max(0.6 * abs(level), 0.35 * c.scale):
            return c.says("oscillating", f"swings between {level + low:.4g} and {level + high:.4g} around {level:.4g}", spread / (0.35 * c.scale) + 0.5 * bounces)
    swings, size = c.swings()
    if swings >= 2 and np.median(c.by[c.by.size // 4:]) > c.top - 0.75 * c.scale:
        return c.says("oscillating", f"{swings} slow swings up and down by about {size:.3g} around {level:.4g}", swings / 1.5)


def _flat(c):
    drop, error, (late_drop, late_error, *_) = c.first - c.last, c.error(*c.start, *c.end), c.late
    near = _near(c.last, c.baseline, max(0.04, min(3 * error / abs(c.baseline or 1), 0.1)))
    if c.fall >= 1 and drop > SLOW_DROP * c.scale and not (near and late_drop - 2 * late_error < FLAT_DROP * c.scale):
        return None
    if c.fall >= 1 and drop >= FLAT_DROP * c.scale and late_drop > max(3 * late_error, FLAT_DROP * c.scale / 2):
        return c.says("still-improving", f"falls, but only from {c.first:.4g} to {c.last:.4g} {c.where}", c.fall, "falling", also=("flat-from-start",))
    halves = c.level(0, c.middle) - c.level(c.middle, c.n) + 2 * c.error(0, c.middle, c.middle, c.n)
    ceiling = min(halves, late_drop + 2 * late_error if c.fall >= 1 else inf)
    if ceiling > RULED_OUT * c.scale or not near and drop > max(2.5 * error, SLOW_DROP * c.scale):
        return c.says("too-short-to-tell", f"around {c.last:.4g} {c.where}: too few points for this noise ({c.noise:.2g})", 0)
    if c.lr is not None and c.lr[-1] > 1.02 * c.lr[-max(2, c.n // 10)] and c.lr[-1] >= c.lr.max() > 1.5 * c.lr[0]:
        return c.says("too-short-to-tell", f"flat at {c.last:.4g} {c.where}, but the learning rate is still warming up", 0)
    margin, late_start = min(RULED_OUT * c.scale / max(ceiling, 1e-9 * c.scale), 5), c.x[0] > max(c.x[-1] - c.x[0], 10 * (c.x[1] - c.x[0]))
    text, fell = f"{_named(c.last, c.baseline)} {c.where}", drop > SLOW_DROP * c.scale
    if near:
        return c.says("flat-at-baseline", text + (f", after a start at {c.first:.4g}" if fell else ""), margin, "flat",
                      also=() if fell or late_start else ("flat-from-start",))
    if c.baseline is not None and c.share is not None and c.last < 0.9 * c.baseline and (late_start or c.share <= LOW):
        label = "plateau-high" if c.share > LOW else "converged" if c.floor is not None else "plateau-low"
        return c.says(label, f"{text}, below it from the first value on", margin, "flat")
    if late_start:
        return c.says("too-short-to-tell", f"flat at {c.last:.4g}, but the log begins only at step {c.step(0)}", 0, "flat")
    return c.says("flat-from-start", text, margin, "flat")


def _fallen(c):
    (drop, error, tail_share, z), fell = c.late, f"fell from {c.first:.4g} to {c.last:.4g}"
    moving, limit, known = drop > max(3 * error, 0.01 * c.scale) and z < -1.9, LOW if c.floor is not None else LOW_GUESSED, c.share is not None
    falls = moving and drop > 0.04 * c.scale
    low = not known or c.share <= limit
    if falls and tail_share > 0.2:
        r = c.says("still-improving", f"{fell} and still falls: {drop:.3g} in the last half of the steps", drop / max(3 * error, 0.04 * c.scale), "falling")
    elif drop + 2 * error <= RULED_OUT * c.scale and not falls and not low and (moving or c.n < 15 * c.tau):
        r = c.says("healthy", f"{fell}, now slowly ({drop:.2g} in the last half)", 1)
    elif drop + 2 * error <= RULED_OUT * c.scale and not falls:
        turn = c.step(np.searchsorted(c.x, c.bx[int(np.argmax(c.by <= c.last + max(0.1 * (c.first - c.last), 2 * c.noise)))]))
        label = "plateau-high" if not low else "converged" if c.floor is not None or known and c.share <= 0.02 else "plateau-low"
        rose = f"; up again from {c.best:.4g}" if drop < -max(3 * error, 0.04 * c.scale) else ""
        r = c.says(label, f"{fell} by step {turn}, then levelled off{rose}", max(c.share / limit, limit / max(c.share, 1e-9)) if known else 1.5,
                   turning_step=turn, segments=((c.step(0), turn, "falling"), (turn, c.step(c.n), "flat")))
    elif c.first - c.last > 0.2 * c.scale:
        r = c.says("healthy", f"{fell}; whether it has levelled off cannot be told from this noise", 1)
    else:
        r = c.says("too-short-to-tell", f"{fell}: too few points for this noise ({c.noise:.2g})", 0)
    if c.spikes.size and r.label in FALLEN:
        events = tuple(int(s) for s in c.x[c.spikes])
        listed = ", ".join(map(str, events[:8])) + (f" and {len(events) - 8} more" if len(events) > 8 else "")
        return replace(r, label="spiky", also=(r.label,), events=events, first_bad_step=events[0], detail=f"spikes at steps {listed}; between them it {r.detail}")
    return r


_RULES = _constant_or_tiny, _diverged, _staircase, _oscillating, _flat, _fallen     # the first that speaks names the curve; the last always does
