"""The robust numbers of one finite curve that the rules look at."""

from math import hypot, inf, sqrt

import numpy as np

from whyloss.curves.outline import BLOCK
from whyloss.curves.pieces import place
from whyloss.curves.reading import CurveReading
from whyloss.curves.robust import middle_value, point_noise, running_median, thinned, trend

FLAT_DROP = 0.012  # a fall smaller than this share of scale is no fall (methods 1.3, rule 8)
SLOW_DROP = 0.08  # less than this in the whole run: not learning in any useful sense (rule 8)
RULED_OUT = 0.12  # "flat" is only said when a fall of this share of scale is excluded by 2 standard errors
LOW, LOW_GUESSED = 0.2, 1 / 3  # low level as share of scale: floor known (1.5); floor unknown, so the doubt is the curve's


class Curve:
    """A finite run and the robust numbers the rules look at. Spans are index ranges (i, j); late means late in steps."""

    def __init__(self, x, y, lr, baseline, floor, window, whole=None):
        self.x, self.y, self.lr, self.n, self.baseline, self.floor, self.window = x, y, lr, y.size, baseline, floor, window
        self._late = None
        self.whole = whole  # Outline of a long curve, of which only stretches are here
        self.middle = min(max(self.at(0.5), 3, self.n // 8), self.n - max(2, self.n // 8))
        self.sd, self.tau, self.noise = self._spread(max(float(window or 1), 1.0))
        self.early_noise = point_noise(y[max(0, self.middle - 50000) : self.middle] if self.middle > 3 else y)
        self.early_sd = self.early_noise * (self.sd / self.noise if self.noise > 0 else 1.0)  # correlation as in the late half, which is not steep
        self.end = min(self.at(0.8), self.n - min(3, self.n)), self.n
        self.last, self.tail = self.level(*self.end), self.level(self.n - max(3, self.n // 40), self.n)
        self.start, self.first = self._start()
        self.bx, self.by = (x, running_median(y, 3)) if self.n < 24 else thinned(x, y, min(40, self.n // 3))
        self.low, self.best = int(np.argmin(self.by)), float(self.by.min())
        bottom = floor if floor is not None else (0.0 if y.min() >= 0 else None)
        self.top = max(self.first, baseline if baseline is not None else -inf)
        self.scale = self.top - bottom if bottom is not None and self.top > bottom else max(abs(self.top), self.top - self.best) or 1.0
        whole = baseline - bottom if None not in (baseline, bottom) and baseline > bottom else self.scale
        self.share = None if bottom is None else (self.last - bottom) / whole  # of the way from floor to baseline
        self.above = self.last - (bottom or 0.0)  # what is left of the loss
        self.where = f"from step {self.step(0)} to {self.step(self.n)}"

    def at(self, share):
        return int(np.searchsorted(self.x, self.x[0] + share * (self.x[-1] - self.x[0])))

    def level(self, i, j):
        return middle_value(self.y[i:j])

    def step(self, i):
        return place(self.x[min(int(i), self.n - 1)])

    def _spread(self, tau):
        """Of the late half: sd, points per independent point, noise. Correlated logs get the sd about a parabola, of the calmer quarter."""
        late, found = self.y[self.middle :][:100_000], []
        noise = point_noise(late if late.size > 3 else self.y)
        for y in (late[: late.size // 2], late[late.size // 2 :]) if late.size >= 24 else ():
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
        noise, next_ones = max(self.noise * min(max(1.0, abs(y[0] / (self.last or 1.0))), 10.0), point_noise(y[1:12])), self.level(1, 4)
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
        if self._late is None:
            self._late = self._measure_late()
        return self._late

    def _measure_late(self):
        x, y = thinned(self.x[self.middle :], self.y[self.middle :], 60)
        (slope, z), k, half = trend(x, y), self.n - self.middle, y.size // 2
        share = trend(x[half:], y[half:])[0] / slope / 2 if slope and half > 2 else 1.0
        error = 1.3 * self.sd * min(sqrt(12 * self.tau / k), 1.5)
        return -slope * float(self.x[-1] - self.x[self.middle]), error, share, z / sqrt(max(1.0, self.tau * y.size / k))

    def ceiling(self, i, j, k):
        """Largest fall from span (i, j) to (j, k) that their means leave open at 2 standard errors; inf where points are correlated or too few.

        Means of few points judge better than medians with a noise read off second differences; tails that are heavy widen the error by themselves.
        """
        if self.tau > 1 or min(j - i, k - j) < 5:
            return inf
        a, b = self.y[i:j][-100_000:], self.y[j:k][:100_000]
        return float(a.mean() - b.mean()) + 2 * sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)

    def spikes(self):
        """Steps of upward spikes; none when outliers are too many, too rare, on both sides or only a heavy tail (small batches)."""
        if self.whole is not None:
            return self._spikes_of_whole()
        heads = self._bursts()[0]
        if not heads.size:
            heads = self._outliers()[0]
        return self.x[heads]

    def _spikes_of_whole(self):
        """As _outliers, over every point of a long curve: the trend and the noise are those of the stretches."""
        x, y = self.whole.x, self.whole.y
        at, middle = thinned(self.x, self.y, 80)
        r = self.y - np.interp(self.x, at, middle)
        mad = np.interp(at, *thinned(self.x, 1.4826 * np.abs(r), 16))
        slope = np.abs(np.gradient(middle)) / 2
        bar = np.maximum(np.maximum(7 * np.maximum(mad, np.median(mad)), 0.25 * self.scale), 0.4 * np.abs(middle)) + slope
        places = _far_points(self.whole, at, middle, bar)
        centre, edge = np.interp(x[places], at, middle), np.interp(x[places], at, bar)
        rest = y[places] - centre
        up, low = places[rest > edge], int(np.sum(rest < -edge))
        high = int(np.sum(rest > 0.75 * edge))  # half of it is reached by plain noise among millions of points
        heads = up[(np.diff(up, prepend=-9) > 2) & (up >= y.size // 40)]
        # of a long curve a few spikes count too, if nothing lies between them and the noise
        clear = 3 <= heads.size and max(1, 3 * low) <= up.size <= 0.2 * y.size and high - up.size <= up.size / 2
        return x[heads] if clear else x[:0]

    def _outliers(self):
        """(indices where spikes begin, indices of all their points)."""
        if self.n < 8:
            return np.array([], int), np.array([], int)
        width = max(5, self.n // 40) | 1
        middle = running_median(self.y, width)
        r = self.y - middle
        mad = 1.4826 * np.maximum(np.median(np.abs(r)), running_median(np.abs(r), max(9, self.n // 8) | 1))
        bar = np.maximum(np.maximum(7 * mad, 0.25 * self.scale), 0.4 * np.abs(middle))
        # far down from a high start, as a language model is, what stands out of very little noise is a spike too
        bar = np.minimum(bar, np.maximum(15 * mad, 0.25 * np.abs(middle))) + np.abs(np.gradient(middle)) * width / 2
        up, down = np.flatnonzero(r > bar), np.sum(r < -bar)
        half = r > bar / 2  # of a spike that decays, half of its points are below the bar: the others are no heavy tail
        run = np.cumsum(np.diff(half, prepend=False) & half)
        healing = half & np.isin(run, run[up])
        tail = int((half & ~healing).sum())
        heads = up[(np.diff(up, prepend=-9) > 2) & (up >= max(3, self.n // 40))]
        clear = tail <= up.size / 2 and max(2, 0.002 * self.n) <= heads.size and max(1, 3 * down) <= up.size <= 0.2 * self.n
        return (heads, up) if clear else (heads[:0], up[:0])

    def _bursts(self):
        """(indices, points) of rises above the starting level, once the loss had fallen, that last two points or more and come back."""
        nothing = np.array([], int), np.array([], int)
        if self.n < 24:
            return nothing
        smooth = running_median(self.y, 3)
        fell = np.flatnonzero(smooth < self.top - 0.3 * self.scale)
        bar = self.top + max(0.3 * self.scale, 8 * self.sd)
        if not fell.size or self.last > self.top - 0.3 * self.scale:
            return nothing
        up = np.flatnonzero(smooth > bar)
        up = up[up > fell[0]]
        if not up.size or up.size > 0.1 * self.n:
            return nothing
        calm, level = np.ones(self.n, bool), np.abs(running_median(self.y, max(9, self.n // 20) | 1)) + 1e-300
        calm[np.minimum(up[:, None] + np.arange(-4, 5), self.n - 1)] = False
        # a heavy tail makes tall points everywhere, two in a row now and then; a burst stands far above all of them
        alone = calm.any() and (smooth / level)[up].max() > 3 * np.quantile((self.y / level)[calm], 0.995)
        return (up[np.diff(up, prepend=-9) > 4], up) if alone else nothing

    def without_spikes(self):
        """The same curve, the points of its spikes taken out."""
        points = self._bursts()[1]
        points = points if points.size else self._outliers()[1]
        kept = np.ones(self.n, bool)
        kept[points] = False
        return Curve(self.x[kept], self.y[kept], None if self.lr is None else self.lr[kept], self.baseline, self.floor, self.window)

    def swings(self):
        """(number, median size) of the rises of the block medians past what noise and spikes make, each followed by as much of a fall."""
        bar = max(
            7.5 * max(self.early_noise, self.noise) / sqrt(self.n / self.by.size), 7.5 * self.block_error(), 0.3 * self.scale, 0.2 * abs(self.last)
        )
        sizes, low, high = [], self.by[0], None
        for v in self.by:
            if high is None:
                low, high = min(low, v), v if v > low + bar else None
            elif v < (high := max(high, v)) - bar:
                sizes, low, high = sizes + [high - low], v, None
        return (len(sizes), float(np.median(sizes))) if sizes and sum(sizes) > 0.5 * (self.first - self.best) else (0, 0.0)

    def block_error(self):
        """Standard error of a block median from what wanders inside the blocks; 0 where blocks are too small to tell."""
        m = self.n // self.by.size
        if m < 16:
            return 0.0
        m = min(m, 500)
        starts = np.linspace(0, self.n - m, min(self.by.size, 40)).astype(int)
        inside = self.y[starts[:, None] + np.arange(m)]  # (blocks, m)
        inside = np.clip(inside, *np.quantile(inside, [0.02, 0.98], axis=1)[:, :, None])
        t = np.linspace(-1, 1, m)
        inside = inside - inside.mean(1, keepdims=True)
        inside = inside - (inside @ t)[:, None] / (t @ t) * t
        power = float(np.median((inside**2).sum(1)))
        r1 = float(np.median((inside[:, 1:] * inside[:, :-1]).sum(1))) / (power or 1.0)
        r1 = min(r1 + (1 + 4 * max(r1, 0)) / m, 0.97)
        tau = (1 + r1) / (1 - r1) if r1 > 0.3 else 1.0
        return 1.25 * sqrt(power / (m - 2)) * sqrt(min(1.0, tau / (self.n // self.by.size)))

    def restarted(self, since):  # the learning rate rose again after this step: the jump of the loss is meant
        return self.lr is not None and self.lr[self.x >= since].max() > 1.5 * self.lr[np.searchsorted(self.x, since)]

    def says(self, label, detail, margin, phase=None, **more):
        """The reading. margin: how many times the deciding number is past its threshold; 0 for no decision."""
        sure = (1 - 0.5 / max(margin, 0.55)) * self.n / (self.n + 4 * self.tau)
        told = {"segments": ((self.step(0), self.step(self.n), phase),) if phase else (), "confidence": float(sure)} | more
        return CurveReading(label, detail=detail, first=self.first, last=self.last, best=min(self.best, self.last), noise=self.noise, **told)


def _far_points(outline, at, middle, bar):
    """Indices of all points of blocks in which some point lies by three quarters of the bar or more off the middle.

    Few, of a calm curve of millions.
    """
    x, size = outline.x, BLOCK
    kept = x.size // size * size
    highest, lowest = outline.highest[: kept // size], outline.lowest[: kept // size]
    ends = x[: kept + 1 : size][: highest.size], x[size - 1 : kept : size]
    centres, edges = (np.array([np.interp(end, at, line) for end in ends]) for line in (middle, bar))
    far = (highest - centres.min(0) > 0.75 * edges.min(0)) | (lowest - centres.max(0) < -0.75 * edges.min(0))
    inside = (np.flatnonzero(far)[:, None] * size + np.arange(size)).ravel()
    return np.concatenate([inside, np.arange(kept, x.size)])
