"""Signs beside the label: when spikes come, a period of one epoch, a smoothed log, an accuracy that disagrees. Remarks, never a cause."""

from dataclasses import dataclass

import numpy as np

from whyloss.logged import LoggedSeries

FEWEST_CYCLES = 3  # an epoch's period is only claimed when it is seen at least this often


@dataclass(frozen=True)
class Spikes:
    """Spikes of one curve. period: steps between them where regular, else None; the counts say how many spikes came just after each kind of event."""

    steps: tuple[int, ...]
    period: float | None = None
    epoch_steps: float | None = None
    after_overflow: int = 0
    at_epoch_border: int = 0
    at_peak_rate: int = 0

    def line(self) -> str:
        n, text = len(self.steps), f"{len(self.steps)} spikes, the first at {self.steps[0]}"
        if self.period is not None:
            text += f", one every {self.period:.4g} steps"
            if (
                self.epoch_steps
                and abs(self.period / self.epoch_steps - round(self.period / self.epoch_steps)) < 0.05
                and self.period > 0.9 * self.epoch_steps
            ):
                text += f" (an epoch has {self.epoch_steps:.4g})"
        if self.after_overflow:
            text += f"; {self.after_overflow} of {n} follow a gradient norm or loss scale that overflowed"
        if self.at_epoch_border:
            text += f"; {self.at_epoch_border} of {n} at the border of an epoch"
        if self.at_peak_rate:
            text += f"; {self.at_peak_rate} of {n} while the learning rate is near its peak"
        return text if n > 1 else text.replace("1 spikes, the first at", "a spike at")


def epoch_steps(series: LoggedSeries) -> float | None:
    """Steps of one epoch: from the epoch of each point. None where the log does not tell, or has one point an epoch."""
    if series.epochs is None or series.step_unit == "epoch" or len(series) < 4:
        return None
    steps, epochs = series.steps, series.epochs
    good = np.isfinite(epochs) & np.isfinite(steps)
    if good.sum() < 4 or np.ptp(epochs[good]) < 1 or np.any(np.diff(steps[good]) < 0):
        return None
    if np.all(epochs[good] == np.round(epochs[good])):  # whole numbers: the distance between changes
        changes = steps[good][1:][np.diff(epochs[good]) > 0]
        return float(np.median(np.diff(changes))) if changes.size > 1 else None
    return float(np.ptp(steps[good]) / np.ptp(epochs[good]))


def spikes(series: LoggedSeries, events, *, gradient_norms=(), loss_scales=(), learning_rate: LoggedSeries | None = None) -> Spikes | None:
    """What the spikes of a curve coincide with. events: their steps."""
    if not events:
        return None
    at = np.asarray(events, float)
    steps = np.unique(series.steps)
    gap = float(np.median(np.diff(steps))) if steps.size > 1 else 1.0
    gaps = np.diff(at)
    regular = (
        gaps.size >= FEWEST_CYCLES
        and np.median(np.abs(gaps - np.median(gaps))) <= max(0.06 * np.median(gaps), 0.5 * gap)
        and np.mean(np.abs(gaps - np.median(gaps)) <= 0.15 * np.median(gaps)) >= 0.7
    )
    overflow = [s.steps[~np.isfinite(s.values)] for s in gradient_norms]
    overflow += [s.steps[1:][s.values[1:] < 0.75 * s.values[:-1]] for s in loss_scales if len(s) > 1]
    overflow = np.concatenate(overflow) if overflow else np.array([])
    after = sum(bool(((overflow <= s) & (overflow >= s - 3 * gap)).any()) for s in at)
    long = epoch_steps(series)
    border = 0
    if long and long > 4 * gap:
        first = series.steps[0] - (series.epochs[0] % 1) * long
        phase = ((at - first) % long) / long
        border = int(np.sum(np.minimum(phase, 1 - phase) * long <= 1.5 * gap))
        border = border if border > max(1, 3 * at.size * 3 * gap / long) else 0  # more than chance puts there
    peak = 0
    if learning_rate is not None and len(learning_rate) > 4:
        rate = np.interp(at, learning_rate.steps, learning_rate.values)
        top = learning_rate.values.max()
        near = np.mean(learning_rate.values >= 0.9 * top)
        peak = int(np.sum(rate >= 0.9 * top)) if near < 0.4 and learning_rate.values[0] < 0.5 * top else 0
    return Spikes(tuple(int(s) for s in at), float(np.median(gaps)) if regular else None, long, after, border, peak)


def epoch_period(series: LoggedSeries) -> str | None:
    """A pattern that repeats with each epoch: it falls inside the epoch and jumps up (sawtooth up), or steps down at the border (staircase).

    The curve is folded over the epoch after its trend across epochs is removed; fold over ten wrong lengths is the control.
    """
    long = epoch_steps(series)
    if not long or np.ptp(series.steps) < FEWEST_CYCLES * long:
        return None
    finite = np.isfinite(series.values)
    x, y = series.steps[finite], series.values[finite]
    if x.size < 24 or x.size < 8 * np.ptp(x) / long:
        return None
    y = np.clip(y, *np.quantile(y, [0.01, 0.99]))
    own = _folded(x, y, long, series.steps[0])
    others = [_folded(x, y, long * f, series.steps[0])[0] for f in (0.61, 0.67, 0.73, 0.79, 0.86, 1.14, 1.23, 1.31, 1.42, 1.57)]
    strength, rise = own
    if strength < 0.15 or strength < 2.5 * max(others):
        return None
    if rise > 0 and _inside(x, y, long, series.steps[0]) < 0.3 * rise * 7:
        return f"steps down at the border of each epoch ({long:.4g} steps) and is level inside: samples seen again are remembered"
    if rise > 0:
        return f"a sawtooth with the period of one epoch ({long:.4g} steps): the loss rises inside each epoch and drops at its border"
    return f"a sawtooth with the period of one epoch ({long:.4g} steps): the loss falls inside each epoch and jumps back at its border"


def _folded(x, y, long, origin) -> tuple[float, float]:
    """(share of the detrended variance that the phase explains, mean slope inside the fold)."""
    number = np.floor((x - origin) / long)
    ids, place = np.unique(number, return_inverse=True)
    if ids.size < 2:
        return 0.0, 0.0
    count = np.bincount(place)
    means = np.bincount(place, y) / count
    # the trend across folds is taken out as a line between the means of neighbouring folds, so that a steady fall leaves no sawtooth
    centres = np.bincount(place, x) / count
    rest = y - np.interp(x, centres, means) if ids.size > 1 else y - means[place]
    inner = (x > centres[0]) & (x < centres[-1])
    rest, phase = rest[inner], ((x[inner] - origin) % long) / long
    bins = np.minimum((phase * 8).astype(int), 7)
    n = np.bincount(bins, minlength=8)
    level = np.bincount(bins, rest, minlength=8) / np.maximum(n, 1)
    if rest.size < 24 or not rest.var() > 0 or (n == 0).any():
        return 0.0, 0.0
    explained = float((n * (level - rest.mean()) ** 2).sum() / (rest.size * rest.var())) - 8 / rest.size
    return explained, float(np.polyfit(np.arange(8), level, 1)[0])


def _inside(x, y, long, origin) -> float:
    """Median rise from the first to the last third of an epoch, in loss units."""
    number = np.floor((x - origin) / long)
    edges = np.flatnonzero(np.diff(number)) + 1
    parts = [p for p in np.split(y, edges) if p.size >= 6]
    return float(np.median([np.median(p[-(p.size // 3) :]) - np.median(p[: p.size // 3]) for p in parts])) if parts else 0.0


def smoothed(series: LoggedSeries) -> int | None:
    """Window of a log that was smoothed before it was written, in points; None where neighbouring points are independent.

    Differences of independent noise around a trend correlate by -1/2, those of a moving average of w points by 0 up to lag w.
    """
    y = series.values[-40_000:]
    y = y[np.isfinite(y)][-20_000:]
    if y.size < 60:
        return None
    d = np.diff(y[y.size // 3 :])
    d = np.clip(d, *np.quantile(d, [0.02, 0.98]))
    d = d - np.median(d)
    power = float(d @ d)
    if not power > 0:
        return None
    first = float(d[1:] @ d[:-1]) / power
    wiggles = np.mean(d[1:] * d[:-1] < 0)
    if first < -0.2 or wiggles < 0.1:  # no smoothing, or a curve without noise at all
        return None
    for lag in range(2, min(200, d.size // 4)):
        if float(d[lag:] @ d[:-lag]) / power < -0.2:
            return lag
    return 0


def disagreement(loss: LoggedSeries, accuracy: LoggedSeries) -> str | None:
    """Loss and accuracy of the same set that tell different stories in the second half of the run."""
    steps = np.intersect1d(loss.steps, accuracy.steps)
    if steps.size < 8:
        return None
    a, b = (s.values[np.searchsorted(s.steps, steps).clip(0, len(s) - 1)] if np.all(np.diff(s.steps) > 0) else None for s in (loss, accuracy))
    if a is None or b is None or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    half = steps.size // 2
    k = max(2, half // 3)
    move, size = [], []
    for y in (a, b):
        late = y[half:]
        noise = float(np.median(np.abs(np.diff(y, 2)))) / 0.6745 / np.sqrt(6) if y.size > 3 else 0.0
        change = float(np.median(late[-k:]) - np.median(late[:k]))
        move.append(change)
        size.append(abs(change) > max(4 * noise / np.sqrt(k), 0.03 * np.ptp(y), 1e-12))
    if size[0] and size[1] and move[0] > 0 and move[1] > 0:
        return f"{loss.name} rises late while {accuracy.name} still rises: the model grows over-confident, it does not get worse at its task"
    if size[0] and size[1] and move[0] < 0 and move[1] < 0:
        return (
            f"{loss.name} falls late while {accuracy.name} falls too: the loss is not what you want to be good at, or one of them is computed wrongly"
        )
    if np.ptp(b) == 0 and np.median(a[:k]) - np.median(a[-k:]) > 0.3 * abs(np.median(a[:k])):
        return (
            f"{loss.name} falls while {accuracy.name} is exactly {b[0]:.4g} throughout: the accuracy is computed on the wrong thing, or never updated"
        )
    return None
