"""What the shape of a logged loss says: one label per curve, one for a train and validation pair. A label is a symptom, never a cause.

"Flat" and "levelled off" are claims: where the noise cannot rule a real fall out, the answer is `too-short-to-tell`. Sizes are shares of `scale`,
what the loss could lose at the start: max(first, baseline) - floor. Rules and errors: own measurements
"""

from dataclasses import dataclass, replace
from math import exp, hypot, inf, log, nan, sqrt

import numpy as np

FLAT_DROP = 0.012     # a fall smaller than this share of scale is no fall (methods 1.3, rule 8)
SLOW_DROP = 0.08      # less than this in the whole run: not learning in any useful sense (rule 8)
RULED_OUT = 0.12      # "flat" is only said when a fall of this share of scale is excluded by 2 standard errors
LOW, LOW_GUESSED = 0.2, 1 / 3    # low level as share of scale: floor known (1.5); floor unknown, so the doubt is the curve's


@dataclass(frozen=True)
class CurveReading:
    """What one curve says. Levels and noise in loss units, NaN where there is too little; confidence 0..1. also: further true labels (a very slow
    fall is `still-improving`, also `flat-from-start`); segments: (first step, last step, "falling", "flat", ... or "run: label"); events: spikes."""

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
    detail = readings[chosen].detail + f"; run {chosen + 1} of {len(runs)} in this log" * bool(others)
    return replace(readings[chosen], segments=others + readings[chosen].segments, detail=detail)


def read_pair(train_steps, train, val_steps, val, *, baseline=None, floor=None) -> CurveReading:
    """Label of training and validation together; numbers and steps are the validation's unless training is at fault."""
    fit, check = (read_curve(x, y, baseline=baseline, floor=floor) for x, y in ((train_steps, train), (val_steps, val)))
    gap = f"training {fit.first:.4g} to {fit.last:.4g}, validation {check.first:.4g} to {check.last:.4g}"
    runs, broken = _runs(val_steps, val, None), ("non-finite", "not-a-loss-curve")
    if fit.label in broken + ("diverged", "oscillating") or "flat" in fit.label + "".join(fit.also):
        return replace(fit, detail=f"training: {fit.detail}")
    if check.label in broken or not runs or runs[-1][1].size < 5:
        return replace(check, detail=f"validation: {check.detail}", **{} if check.label in broken else {"label": "too-short-to-tell", "also": ()})
    rise, (begin, *_, end) = _rise_after_best(*runs[-1][:2], *_runs(train_steps, train, None)[-1][:2]), runs[-1][0].astype(int).tolist()
    if rise:
        turn, best, last, sure = rise
        return replace(check, label="overfitting", also=(), turning_step=turn, first_bad_step=None, best=best, last=last, confidence=sure, events=(),
                       segments=((begin, turn, "falling"), (turn, end, "rising")),
                       detail=f"validation rose from {best:.4g} at step {turn} to {last:.4g} while training fell to {fit.last:.4g}")
    if fit.label == "plateau-high" and check.label in ("plateau-high", "too-short-to-tell") and check.last < fit.last + 0.25 * (fit.first - fit.last):
        return replace(fit, label="underfitting", also=("plateau-high",), confidence=0.6 * fit.confidence, detail=f"both level off high: {gap}")
    if "too-short-to-tell" == fit.label or "flat" in check.label or check.label == "diverged" or fit.label == check.label == "still-improving":
        return replace(fit if fit.label == "too-short-to-tell" else check, detail=f"{gap}; validation: {check.detail}")
    also, sure = tuple(sorted({fit.label, check.label} - {"healthy", "too-short-to-tell"})), min(fit.confidence, max(check.confidence, 0.3))
    return replace(check, label="healthy", also=also, detail=f"no lasting rise of validation: {gap}", confidence=sure)


def _rise_after_best(x, y, fit_x, fit_y):
    """(step of the minimum, its level, last level, confidence) when validation truly rose while training fell; the minimum of noise never counts."""
    smooth = _running_median(y, max(1, y.size // 16) | 1)
    i, tail = int(np.argmin(smooth)), y[-max(2, min(y.size // 8, 200)):]
    after, fit = y[i:], fit_y[np.searchsorted(fit_x, x[i]):]
    level, last = float(np.median(y[max(0, i - 1):i + 2])) if y.size >= 20 else float(smooth[i]), float(np.median(tail))
    needed = max(0.05 * abs(level), 0.03 * (float(y[:3].max()) - level), 3.75 * max(_noise(y), _noise(after)) / sqrt(tail.size), 1e-300)
    if min(after.size, fit.size) >= 4 and last - level > needed and _trend(*_thin(x[i:], after, 60))[1] > (2.0 if after.size <= 8 else 2.6):
        k = max(2, fit.size // 4)
        falls = float(np.median(fit[:k]) - np.median(fit[-k:])) > 1.5 * _noise(fit) / sqrt(k)
        return (int(x[i]), level, last, (1 - 0.5 * needed / (last - level)) * after.size / (after.size + 4)) if falls else None


def _runs(steps, values, learning_rate):
    """[(steps, values, learning rates or None)]: sorted, one value per step, cut where a new run begins. None is a missing value, NaN is not."""
    columns = [range(len(values)) if steps is None else steps, values] + [learning_rate] * (learning_rate is not None)
    if len({len(c) for c in columns}) > 1:
        raise ValueError("steps, values and learning rates differ in number: " + ", ".join(str(len(c)) for c in columns))
    if not isinstance(values, np.ndarray) and any(v is None for v in values):
        columns = [[v for v, loss in zip(c, values) if loss is not None] for c in columns]
    table = np.column_stack([np.asarray(c, float).ravel() for c in columns])
    table = table[np.isfinite(table[:, 0])]
    cuts = np.flatnonzero(np.diff(table[:, 0]) < 0) + 1
    pieces = np.split(table, cuts) if cuts.size <= 1000 else []
    if not pieces or min(map(len, pieces[:-1]), default=5) < 5:      # out of order, not restarted
        pieces = [table[np.argsort(table[:, 0], kind="stable")]]
    runs = []
    for run in _join(pieces) if len(table) else []:
        kept = np.append(np.diff(run[:, 0]) > 0, True)      # the last value written for a step
        if kept.sum() < len(run) / 2:                       # the step is an epoch number: count the values instead
            run[:, 0], kept = np.arange(len(run)), slice(None)
        runs.append((*np.ascontiguousarray(run[kept].T), None)[:3])
    return runs


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


def _named(value, baseline):
    """The number, with the guess among k classes that it is equal to, if any."""
    k = round(exp(value)) if 0.5 < value < 7 else 0
    exact = k >= 2 and abs(value - log(k)) < 0.004 * value and (k <= 20 or k in (100, 1000) or abs(log(k) - (baseline or 0)) < 0.002)
    return f"{value:.4g} = ln {k}" if exact else f"{value:.4g}" + (f" (baseline {baseline:.4g})" if baseline is not None else "")


def _read_run(x, y, lr, baseline, floor, window):
    good = np.isfinite(y)
    if good.all():
        if y.size < 3 or y.size < 5 and np.ptp(y) > 0:
            return CurveReading("too-short-to-tell", detail=f"{y.size} values", first=float([*y, nan][0]), last=float([nan, *y][-1]))
        curve = _Curve(x, np.clip(y, -1e100, 1e100), lr, baseline, floor, window)      # squares stay finite
        return next(filter(None, (rule(curve) for rule in (_diverged, _staircase, _oscillating, _flat, _fallen))))
    rest = _read_run(x[good], y[good], None if lr is None else lr[good], baseline, floor, window)
    i = int(np.argmin(good))
    before, later = np.abs(y[:i]), int(good[i:].sum())
    grew = i and before[-3:].max() > 3 * np.median(before[-50:-3] if i > 6 else before[:1])
    how = f"it grew before, to {y[i - 1]:.4g}" if grew else f"sudden, {y[i - 1]:.4g} just before" if i else "the very first value"
    detail = f"first {'NaN' if np.isnan(y[i]) else 'Inf'} at step {int(x[i])}: {how}; {int((~good).sum())} of {y.size} values are not finite"
    also = (rest.label,) if later >= 20 and rest.label != "too-short-to-tell" else ()
    return replace(rest, label="non-finite", also=also, confidence=1.0, detail=detail, first_bad_step=int(x[i]))


class _Curve:
    """A finite run and the robust numbers the rules look at. Spans are index ranges (i, j); late means late in steps."""

    def __init__(self, x, y, lr, baseline, floor, window):
        self.x, self.y, self.lr, self.n, self.baseline, self.floor = x, y, lr, y.size, baseline, floor
        self.middle = min(max(self.at(0.5), 3, self.n // 8), self.n - max(2, self.n // 8))
        self.sd, self.tau, self.noise = self._spread(max(float(window or 1), 1.0))
        self.early_noise = _noise(y[max(0, self.middle - 50000):self.middle] if self.middle > 3 else y)
        self.early_sd = self.early_noise * (self.sd / self.noise if self.noise > 0 else 1.0)   # correlation as in the late half, which is not steep
        self.end = min(self.at(0.8), self.n - min(3, self.n)), self.n
        self.last, self.tail = self.level(*self.end), self.level(self.n - max(3, self.n // 40), self.n)
        self.start, self.first = self._start()
        self.bx, self.by = (x, _running_median(y, 3)) if self.n < 24 else _thin(x, y, min(40, self.n // 3))
        self.low, self.best = int(np.argmin(self.by)), float(self.by.min())
        bottom = floor if floor is not None else (0.0 if y.min() >= 0 else None)
        self.top = max(self.first, baseline if baseline is not None else -inf)
        self.scale = self.top - bottom if bottom is not None and self.top > bottom else max(abs(self.top), self.top - self.best) or 1.0
        whole = baseline - bottom if None not in (baseline, bottom) and baseline > bottom else self.scale
        self.share = None if bottom is None else (self.last - bottom) / whole      # of the way from floor to baseline
        self.where = f"from step {self.step(0)} to {self.step(self.n)}"

    def at(self, share):
        return int(np.searchsorted(self.x, self.x[0] + share * (self.x[-1] - self.x[0])))

    def level(self, i, j):
        return float(np.median(self.y[i:j]))

    def step(self, i):
        return int(self.x[min(int(i), self.n - 1)])

    def _spread(self, tau):
        """Of the late half: sd, points per independent point, noise. Correlated logs get the sd about a parabola, of the calmer quarter."""
        late, found = self.y[self.middle:][:100_000], []
        noise = _noise(late if late.size > 3 else self.y)
        for y in (late[:late.size // 2], late[late.size // 2:]) if late.size >= 24 else ():
            t, r = np.linspace(-1, 1, y.size), np.clip(y, *np.quantile(y, [0.02, 0.98]))
            r = r - np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, r, 2))
            r1 = float(r[1:] @ r[:-1]) / (float(r @ r) or 1.0)
            r1 = min(r1 + (1 + 4 * max(r1, 0)) / y.size, 0.995)
            found.append((max(noise, float(r.std())), max(tau, (1 + r1) / (1 - r1)), noise) if r1 > 0.3 else (noise, tau, noise))
        return min(found, key=lambda s: s[0] * sqrt(s[1]), default=(noise, tau, noise))

    def error(self, i, j):
        """Standard error of the median of a span."""
        return 1.25 * (self.sd if i >= self.middle else self.early_sd) * sqrt(min(1.0, self.tau / max(j - i, 1)))

    def _start(self):
        """The span that shows the untrained loss: one point where the loss moved at once, else a few."""
        y, few, some = self.y, self.level(0, 3), max(3, min(self.n // 16, 12))
        noise, next_ones = max(self.noise * min(max(1.0, abs(y[0] / (self.last or 1.0))), 10.0), _noise(y[1:12])), self.level(1, 4)
        shot = y[0] > 0 and next_ones > 3 * y[0] and (next_ones > y[0] + 6 * noise or next_ones > 3 * (self.baseline or inf))
        end = 1 if self.n > 4 and (shot or y[0] - y[1:4].max() > 4 * noise) else 3 if abs(few - self.level(0, some)) > 3 * noise else some
        return (0, end), self.level(0, end)

    def fall(self):
        """Largest fall from an early to a late span in units of what noise and size ask for: 1 is significant."""
        early = {(0, k) for k in (3, self.n // 16, self.n // 8, self.n // 4, self.middle) if 3 <= k <= self.n // 2} | {self.start}
        late, found = {(min(self.at(s), self.n - 3), self.n) for s in (0.5, 0.75, 0.875, 0.94)}, 0.0
        levels = {span: self.level(*span) for span in early | late}
        for a, b in ((a, b) for a in early for b in late if a[1] <= b[0]):
            z = 4 if min(a[1] - a[0], b[1] - b[0]) >= 8 else 5
            found = max(found, (levels[a] - levels[b]) / max(z * hypot(self.error(*a), self.error(*b)), FLAT_DROP * self.scale))
        return found

    def late(self):
        """Fall over the late half, its standard error, the share of it in the last quarter, Mann-Kendall z."""
        x, y = _thin(self.x[self.middle:], self.y[self.middle:], 60)
        (slope, z), k, half = _trend(x, y), self.n - self.middle, y.size // 2
        share = _trend(x[half:], y[half:])[0] / slope / 2 if slope and half > 2 else 1.0
        error = 1.3 * self.sd * min(sqrt(12 * self.tau / k), 1.5)
        return -slope * float(self.x[-1] - self.x[self.middle]), error, share, z / sqrt(max(1.0, self.tau * y.size / k))

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
        bar = max(7.5 * max(self.early_noise, self.noise) / sqrt(self.n / self.by.size), 0.3 * self.scale, 0.2 * abs(self.last))
        sizes, low, high = [], self.by[0], None
        for v in self.by:
            if high is None:
                low, high = min(low, v), v if v > low + bar else None
            elif v < (high := max(high, v)) - bar:
                sizes, low, high = sizes + [high - low], v, None
        return (len(sizes), float(np.median(sizes))) if sizes and sum(sizes) > 0.5 * (self.first - self.best) else (0, 0.0)

    def restarted(self, since):     # the learning rate rose again after this step: the jump of the loss is meant
        return self.lr is not None and self.lr[self.x >= since].max() > 1.5 * self.lr[np.searchsorted(self.x, since)]

    def says(self, label, detail, margin, phase=None, **more):
        """The reading. margin: how many times the deciding number is past its threshold; 0 for no decision."""
        sure = (1 - 0.5 / max(margin, 0.55)) * self.n / (self.n + 4 * self.tau)
        told = {"segments": ((self.step(0), self.step(self.n), phase),) if phase else (), "confidence": float(sure)} | more
        return CurveReading(label, detail=detail, first=self.first, last=self.last, best=min(self.best, self.last), noise=self.noise, **told)


def _diverged(c):
    level, up, k = min(c.last, c.tail), max(c.last, c.tail), max(3, c.n // 40)
    error = 1.75 * max(c.early_noise if c.n < 400 else 0, c.noise) / sqrt(k)
    begin, rest, fell = max(c.y[0], c.baseline or -inf), c.level(1, c.n), c.first - c.best
    jumped = begin > 0 and level > 1.5 * begin and rest - begin > max((1 if c.baseline else 1.5) * begin, 6 * c.noise / sqrt(c.n))
    jumped = jumped and (c.y[1:] < c.y[0]).mean() <= 0.01
    rose = level > 10 * abs(c.top) or up > c.top + 0.35 * c.scale and up > c.best + 0.33 * c.scale and up - c.best > 6 * error
    back = level - c.best > max(0.6 * fell, 8 * error) and fell > 0.3 * c.scale and c.n >= 12 and c.by[-1] - c.best > 0.5 * fell
    if back and c.restarted(c.bx[c.low]) or (back or rose) and c.swings()[0] >= 2 and up < 1.25 * c.by[:max(c.low, c.by.size // 2)].max():
        back = rose = False
    if c.tail < -100 * max(abs(c.first), 1) and c.level(c.at(0.75), c.at(0.85) + 1) - c.tail > 0.5 * (c.first - c.tail):
        return c.says("diverged", f"fell without bound, from {c.first:.4g} to {c.tail:.4g}", 2, "falling", first_bad_step=c.step(c.at(0.75)))
    if rose and c.baseline is None and 0 <= c.y.min() and c.y.max() <= 1 and c.low < c.by.size // 4 and 2 * c.level(c.n // 4, c.n // 2) > c.first + c.last:
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
        if w >= 4 and np.ptp(c.lr[cut - w:cut]) <= 0.05 * c.lr[cut - 1] and np.ptp(c.lr[cut:cut + w]) <= 0.05 * c.lr[cut]:
            left, right = c.y[cut - w // 2:cut], c.y[cut + w - w // 2:cut + w]
            old, new, earlier = np.median(left), np.median(right), c.level(cut - w, cut - w // 2)
            needed = max(6 * sqrt((left.var() + right.var()) / left.size), 0.05 * abs(old), 3 * (earlier - old), 1e-300)
            gains += [(c.step(cut), (old - new) / needed, f"{old:.4g} to {new:.4g} at step {c.step(cut)}")] if old - new > needed else []
    if gains and 2 * len(gains) >= cuts.size:
        text = "drops with each cut of the learning rate: " + ", ".join(g[2] for g in gains[:4])
        return c.says("learning-rate-limited-plateau", text, max(g[1] for g in gains), turning_step=gains[0][0])


def _oscillating(c):
    below = float((c.y < 0).mean())
    if 0.2 < below < 0.8 and c.fall() < 1:
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
    fall, drop, error, (late_drop, late_error, *_), exact = c.fall(), c.first - c.last, hypot(c.error(*c.start), c.error(*c.end)), c.late(), bool(np.ptp(c.y) == 0)
    near = c.baseline is not None and abs(c.last - c.baseline) <= max(0.04 * abs(c.baseline), min(3 * error, 0.1 * abs(c.baseline)))
    if fall >= 1 and drop > SLOW_DROP * c.scale and not (near and late_drop - 2 * late_error < FLAT_DROP * c.scale):
        return None
    if fall >= 1 and drop >= FLAT_DROP * c.scale and late_drop > max(3 * late_error, FLAT_DROP * c.scale / 2):
        return c.says("still-improving", f"falls, but only from {c.first:.4g} to {c.last:.4g} {c.where}", fall, "falling", also=("flat-from-start",))
    halves = c.level(0, c.middle) - c.level(c.middle, c.n) + 2 * hypot(c.error(0, c.middle), c.error(c.middle, c.n))
    ceiling = min(halves, late_drop + 2 * late_error if fall >= 1 else inf)
    if ceiling > RULED_OUT * c.scale or not near and drop > max(2.5 * error, SLOW_DROP * c.scale):
        return c.says("too-short-to-tell", f"around {c.last:.4g} {c.where}: too few points for this noise ({c.noise:.2g})", 0)
    if c.lr is not None and c.lr[-1] > 1.02 * c.lr[-max(2, c.n // 10)] and c.lr[-1] >= c.lr.max() > 1.5 * c.lr[0]:
        return c.says("too-short-to-tell", f"flat at {c.last:.4g} {c.where}, but the learning rate is still warming up", 0)
    late_start, fell = not exact and c.x[0] > max(c.x[-1] - c.x[0], 10 * (c.x[1] - c.x[0])), drop > SLOW_DROP * c.scale
    margin, text = min(RULED_OUT * c.scale / max(ceiling, 1e-9 * c.scale), 9), f"{'exactly ' if exact else ''}{_named(c.last, c.baseline)} {c.where}"
    label, also = "flat-at-baseline" if near else "flat-from-start", ("flat-from-start",) if near and not fell and not late_start else ()
    if not near and not exact and c.baseline is not None and c.last < 0.9 * c.baseline and c.share is not None and (late_start or c.share <= LOW):
        label = "plateau-high" if c.share > LOW else "converged" if c.floor is not None else "plateau-low"
    elif late_start and not near:
        label, margin, text = "too-short-to-tell", 0, f"{text}, but the log begins late"
    return c.says(label, text + (f", after a start at {c.first:.4g}" if fell else ""), margin, "flat", also=also)


def _fallen(c):
    (drop, error, tail_share, z), fell, known = c.late(), f"fell from {c.first:.4g} to {c.last:.4g}", c.share is not None
    moving, limit = drop > max(3 * error, 0.01 * c.scale) and z < -1.9, LOW if c.floor is not None else LOW_GUESSED
    falls, low, level = moving and drop > 0.04 * c.scale, not known or c.share <= limit, drop + 2 * error <= RULED_OUT * c.scale
    poor = c.baseline is not None and c.last > 0.96 * c.baseline        # no better than a constant guess, whatever it fell from
    if falls and tail_share > 0.2:
        r = c.says("still-improving", f"{fell} and still falls: {drop:.3g} in the last half of the steps", drop / max(3 * error, 0.04 * c.scale), "falling")
    elif level and not falls and (low or not moving and c.n >= 15 * c.tau):
        turn = c.step(np.searchsorted(c.x, c.bx[int(np.argmax(c.by <= c.last + max(0.1 * (c.first - c.last), 2 * c.noise)))]))
        label = "plateau-high" if not low else "converged" if c.floor is not None or known and c.share <= 0.02 else "plateau-low"
        rose = f"; up again from {c.best:.4g}" if drop < -max(3 * error, 0.04 * c.scale) else ""
        r = c.says(label, f"{fell} by step {turn}, then levelled off{rose}", max(c.share / limit, limit / max(c.share, 1e-9)) if known else 1.5,
                   turning_step=turn, segments=((c.step(0), turn, "falling"), (turn, c.step(c.n), "flat")))
    elif (level and not falls or c.first - c.last > 0.2 * c.scale) and not poor:
        r = c.says("healthy", f"{fell}, by {drop:.2g} in the last half of the steps; whether it has levelled off cannot be told", 1)
    else:
        r = c.says("too-short-to-tell", f"{fell}: " + ("no better than the baseline yet" if poor else f"too few points for this noise ({c.noise:.2g})"), 0)
    spikes = c.spikes()
    if spikes.size and r.label != "too-short-to-tell":
        events = tuple(int(s) for s in c.x[spikes])
        listed = ", ".join(map(str, events[:8])) + (f" and {len(events) - 8} more" if len(events) > 8 else "")
        return replace(r, label="spiky", also=(r.label,), events=events, first_bad_step=events[0], detail=f"spikes at steps {listed}; between them it {r.detail}")
    return r
