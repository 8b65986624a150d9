"""The rules, in the order they are asked: diverged, staircase, oscillating, flat, fallen. Each gives a reading or None."""

from dataclasses import replace
from math import exp, hypot, inf, log, sqrt

import numpy as np

from whyloss.curves.pieces import place
from whyloss.curves.shape import FLAT_DROP, LOW, LOW_GUESSED, RULED_OUT, SLOW_DROP

SHRINKS = 0.3  # share of the loss above the floor that the last half must take away
GAINS = 0.05            # share of the whole fall that the last half must have made
GOES_ON = 0.27  # share of the last half's fall that its second half must have: a steady fall has 0.5, exp(-6 t) has 0.18
UNKNOWN_FLOOR = 0.9  # how surely a level is high at most, where nothing is known of what the task allows: language models end high
NOTHING_LEFT = 0.005  # share of scale below which a further fall is of no interest
GUESSES = (
    (0.25, "the squared error of a constant guess between two classes as frequent as each other (0 and 1)"),
    *((log(k), f"ln {k}, the cross-entropy of guessing among {k} classes") for k in (2, 10, 100, 1000)),
)


def named(value, baseline):
    """The number, with the guess among k classes that it is equal to, if any."""
    k = round(exp(value)) if 0.5 < value < 7 else 0
    exact = k >= 2 and abs(value - log(k)) < 0.004 * value and (k <= 20 or k in (100, 1000) or abs(log(k) - (baseline or 0)) < 0.002)
    return f"{value:.4g} = ln {k}" if exact else f"{value:.4g}" + (f" (baseline {baseline:.4g})" if baseline is not None else "")


def diverged(c):
    level, up, k = min(c.last, c.tail), max(c.last, c.tail), max(3, c.n // 40)
    error = max(1.75 * max(c.early_noise if c.n < 400 else 0, c.noise) / sqrt(k), 1.4 * c.block_error() * sqrt(c.n / c.by.size / k))
    begin, rest, fell = max(c.y[0], c.baseline or -inf), c.level(1, c.n), c.first - c.best
    jumped = begin > 0 and level > 1.5 * begin and rest - begin > max((1 if c.baseline else 1.5) * begin, 6 * c.noise / sqrt(c.n))
    jumped = jumped and (c.y[1:] < c.y[0]).mean() <= 0.01
    rose = level > 10 * abs(c.top) or up > c.top + 0.35 * c.scale and up > c.best + 0.33 * c.scale and up - c.best > 6 * error
    back = level - c.best > max(0.6 * fell, 8 * error) and fell > 0.3 * c.scale and c.n >= 12 and c.by[-1] - c.best > 0.5 * fell
    if back and c.restarted(c.bx[c.low]) or (back or rose) and c.swings()[0] >= 2 and up < 1.25 * c.by[: max(c.low, c.by.size // 2)].max():
        back = rose = False
    if c.tail < -100 * max(abs(c.first), 1) and c.level(c.at(0.75), c.at(0.85) + 1) - c.tail > 0.5 * (c.first - c.tail):
        return c.says("diverged", f"fell without bound, from {c.first:.4g} to {c.tail:.4g}", 2, "falling", first_bad_step=c.step(c.at(0.75)))
    if (
        rose
        and c.baseline is None
        and 0 <= c.y.min()
        and c.y.max() <= 1
        and c.low < c.by.size // 4
        and 2 * c.level(c.n // 4, c.n // 2) > c.first + c.last
    ):
        return c.says("not-a-loss-curve", f"rises from {c.first:.3g} to {c.last:.3g} inside 0..1 and levels off, as an accuracy does", 1.5)
    if jumped or rose or back or _broke(c, up, error):
        turn = 0 if jumped and not rose else int(np.searchsorted(c.x, c.bx[c.low]))
        # half of a rise over orders of magnitude is long after its beginning
        bad = turn + int(np.argmax(c.y[turn:] > min((c.best + up) / 2, max(c.top, c.best + 0.35 * c.scale))))
        return c.says(
            "diverged",
            f"rose from {c.y[turn]:.4g} at step {c.step(turn)} to {up:.4g}; began at {c.first:.4g}",
            1 + (up - c.best) / c.scale,
            turning_step=c.step(turn),
            first_bad_step=c.step(bad),
            segments=((c.step(turn), c.step(c.n), "rising"),),
        )


def _broke(c, up, error):
    """A loss that had come down jumps from one block to the next or the one after it, and stays up to the end: it need not reach its start again."""
    rise, floor = up - c.best, c.best + 0.25 * (up - c.best)
    if c.n < 24 or c.first - c.best < 0.3 * c.scale or rise < max(0.3 * (c.first - c.best), 0.25 * abs(c.best), 10 * error, 20 * c.early_noise):
        return False
    low = np.flatnonzero(c.by < floor)
    if not low.size or low[-1] + 1 >= c.by.size or c.restarted(c.bx[low[-1]]):
        return False
    after, between = c.by[low[-1] + 1 :], c.by[low[0] : low[-1] + 1]
    share = (np.array([between.max(), after[:2].max(), after[1:].min(initial=up)]) - c.best) / rise
    return bool(after.size >= 2 and share[0] < 0.5 and share[1] > 0.75 and share[2] > 0.6)


def staircase(c):
    """Drops that come with cuts of a constant learning rate, each larger than the fall in the equal window before it."""
    cuts = np.flatnonzero(c.lr[1:] < 0.7 * c.lr[:-1]) + 1 if c.lr is not None and c.n >= 12 else np.array([], int)
    edges, gains = np.concatenate([[0], cuts, [c.n]]).astype(int), []
    for before, cut, after in zip(edges, edges[1:21], edges[2:22]):
        w = int(min(cut - before, after - cut, c.n // 4))
        if w >= 4 and np.ptp(c.lr[cut - w : cut]) <= 0.05 * c.lr[cut - 1] and np.ptp(c.lr[cut : cut + w]) <= 0.05 * c.lr[cut]:
            left, right = c.y[cut - w // 2 : cut], c.y[cut + w - w // 2 : cut + w]
            old, new, earlier = np.median(left), np.median(right), c.level(cut - w, cut - w // 2)
            needed = max(6 * sqrt((left.var() + right.var()) / left.size), 0.05 * abs(old), 3 * (earlier - old), 1e-300)
            gains += [(c.step(cut), (old - new) / needed, f"{old:.4g} to {new:.4g} at step {c.step(cut)}")] if old - new > needed else []
    if gains and 2 * len(gains) >= cuts.size:
        text = "drops with each cut of the learning rate: " + ", ".join(g[2] for g in gains[:4])
        return c.says("learning-rate-limited-plateau", text, max(g[1] for g in gains), turning_step=gains[0][0])


def around_zero(c):
    """Values on both sides of 0 without a trend are no loss; asked first, as a slow wander would pass for a rise or a swing."""
    below = float((c.y < 0).mean())
    if 0.2 < below < 0.8 and c.n >= 8:
        low, high = np.quantile(c.y, [0.1, 0.9])
        moved = c.level(0, max(3, c.n // 4)) - c.level(c.n - max(3, c.n // 4), c.n)
        if abs(moved) < 0.5 * (high - low) and c.y.max() < 20 * (high - low) + high:
            return c.says("not-a-loss-curve", f"{below:.0%} of the values are below 0 and there is no trend", 2)


def oscillating(c):
    if c.n < 16 or c.restarted(c.x[c.n // 5]):
        return None
    y = c.y[int(0.3 * c.n) :]
    level, ends = float(np.median(y)), [np.median(y[: y.size // 2]), np.median(y[y.size // 2 :])]
    low, mid, high = np.quantile(y - np.interp(np.arange(y.size), [0, y.size - 1], ends), [0.1, 0.5, 0.9])
    spread, turns = high - low, np.diff(y)
    if level - c.top > -0.75 * c.scale and abs(ends[1] - ends[0]) < spread / 2:
        bounces = turns.size >= 16 and (turns[1:] * turns[:-1] < 0).mean() > 0.9 and spread > max(0.1 * abs(level), 0.05 * c.scale)
        inner = float(np.subtract(*np.quantile(y, [0.75, 0.25]))) or spread
        # swings fill their range evenly (1.3 to 1.6); noise piles up in the middle (1.9 if normal, more for heavy tails), counts only when larger
        wide = spread > max((0.6 if spread < 1.75 * inner else 0.9) * abs(level), 0.35 * c.scale)
        if bounces or _returns(y, spread, level, c.scale) or wide and (mid - low) / 3 <= high - mid <= 3 * (mid - low):
            return c.says(
                "oscillating",
                f"swings between {level + low:.4g} and {level + high:.4g} around {level:.4g}",
                spread / (0.35 * c.scale) + 0.5 * bounces,
            )
    swings, size = c.swings()
    if swings >= 2 and np.median(c.by[c.by.size // 4 :]) > c.top - 0.75 * c.scale:
        return c.says("oscillating", f"{swings} slow swings up and down by about {size:.3g} around {level:.4g}", swings / 1.5)


def _returns(y, spread: float, level: float, scale: float) -> bool:
    """Swings that come back with a period: half of it away, the curve is on the other side. Noise has no such correlation."""
    if y.size < 40 or spread < max(0.3 * abs(level), 0.2 * scale):
        return False
    r = y - np.interp(np.arange(y.size), [0, y.size - 1], [np.median(y[: y.size // 2]), np.median(y[y.size // 2 :])])
    power = float(r @ r) or 1.0
    along = [float(r[lag:] @ r[:-lag]) / power for lag in range(1, min(60, y.size // 6))]
    at = int(np.argmax(along))
    return at >= 2 and along[at] > 0.6 and min(along[: at + 1]) < -0.3


def flat(c):
    fall, drop, error, (late_drop, late_error, *_), exact = (
        c.fall(),
        c.first - c.last,
        hypot(c.error(*c.start), c.error(*c.end)),
        c.late(),
        bool(np.ptp(c.y) == 0),
    )
    near = c.baseline is not None and abs(c.last - c.baseline) <= max(0.04 * abs(c.baseline), min(3 * error, 0.1 * abs(c.baseline)))
    if fall >= 1 and drop > SLOW_DROP * c.scale and not (near and late_drop - 2 * late_error < FLAT_DROP * c.scale):
        return None
    if fall >= 1 and drop >= FLAT_DROP * c.scale and late_drop > max(3 * late_error, FLAT_DROP * c.scale / 2):
        return c.says("still-improving", f"falls, but only from {c.first:.4g} to {c.last:.4g} {c.where}", fall, "falling", also=("flat-from-start",))
    halves = c.level(0, c.middle) - c.level(c.middle, c.n) + 2 * hypot(c.error(0, c.middle), c.error(c.middle, c.n))
    ceiling = min(halves, late_drop + 2 * late_error if fall >= 1 else inf, c.ceiling(0, c.middle, c.n))
    if ceiling > RULED_OUT * c.scale or not near and drop > max(2.5 * error, SLOW_DROP * c.scale):
        return c.says("too-short-to-tell", f"around {c.last:.4g} {c.where}: too few points for this noise ({c.noise:.2g})", 0)
    if c.lr is not None and c.lr[-1] > 1.02 * c.lr[-max(2, c.n // 10)] and c.lr[-1] >= c.lr.max() > 1.5 * c.lr[0]:
        return c.says("too-short-to-tell", f"flat at {c.last:.4g} {c.where}, but the learning rate is still warming up", 0)
    late_start, fell = not exact and c.x[0] > max(c.x[-1] - c.x[0], 10 * (c.x[1] - c.x[0])), drop > SLOW_DROP * c.scale
    margin, text = min(RULED_OUT * c.scale / max(ceiling, 1e-9 * c.scale), 9), f"{'exactly ' if exact else ''}{named(c.last, c.baseline)} {c.where}"
    label, also = "flat-at-baseline" if near else "flat-from-start", ("flat-from-start",) if near and not fell and not late_start else ()
    if not near and not exact and c.baseline is not None and c.last < 0.9 * c.baseline and c.share is not None and (late_start or c.share <= LOW):
        label = "plateau-high" if c.share > LOW else "converged" if c.floor is not None else "plateau-low"
    elif late_start and not near:
        label, margin, text, also = "too-short-to-tell", 0, f"{text}, but the log begins late", ("flat-from-start",)
    return c.says(label, text + (f", after a start at {c.first:.4g}" if fell else ""), margin, "flat", also=also)


def fallen(c):
    (drop, error, tail_share, z), fell, known = c.late(), f"fell from {c.first:.4g} to {c.last:.4g}", c.share is not None
    moving, limit = drop > max(3 * error, 0.01 * c.scale) and z < -1.9, LOW if c.floor is not None else LOW_GUESSED
    ceiling = min(drop + 2 * error, c.ceiling(c.middle, (c.middle + c.n) // 2, c.n))
    open_end = (
        known and c.floor is None and c.share > NOTHING_LEFT and drop + 2 * error > 0.5 * c.above
    )  # a fall by half of what is left is not excluded
    falls, low, level = moving and drop > 0.04 * c.scale, not known or c.share <= limit, ceiling <= RULED_OUT * c.scale
    # a loss that went down by orders of magnitude still improves when its last half takes away a third of what is left
    shrinks = known and c.share > NOTHING_LEFT and drop > max(3 * error, SHRINKS * c.above) and (z < -1.9 or drop > 8 * error)
    # a slow fall from a high level (a language model, a large vocabulary): small beside the level, large beside all that was gained
    gains = drop > max(5 * error, GAINS * (c.first - c.last)) and z < -1.9
    sure = c.n >= 15 * c.tau or ceiling <= 0.25 * RULED_OUT * c.scale  # correlated points say little, unless they are this close together
    poor = c.baseline is not None and c.last > 0.96 * c.baseline  # no better than a constant guess, whatever it fell from
    if (falls or shrinks or gains) and tail_share > GOES_ON:
        return c.says(
            "still-improving", f"{fell} and still falls: {drop:.3g} in the last half of the steps", drop / max(3 * error, 0.04 * c.scale), "falling"
        )
    if level and not falls and not shrinks and (low and not open_end or not low and not moving and sure):
        return _levelled(c, fell, drop, error, low, limit)
    if (level and not falls or c.first - c.last > 0.2 * c.scale) and not poor:
        return c.says("healthy", f"{fell}, by {drop:.2g} in the last half of the steps; whether it has levelled off cannot be told", 1)
    return c.says(
        "too-short-to-tell", f"{fell}: " + ("no better than the baseline yet" if poor else f"too few points for this noise ({c.noise:.2g})"), 0
    )


def _levelled(c, fell, drop, error, low, limit):
    known = c.share is not None
    turn = c.step(np.searchsorted(c.x, c.bx[int(np.argmax(c.by <= c.last + max(0.03 * (c.first - c.last), 3 * c.noise / sqrt(c.n / c.by.size))))]))
    guess = guessing_level(c.last, max(c.error(*c.end), abs(drop))) if known and c.share > 0.02 and c.floor is None and c.baseline is None else ""
    label = "plateau-high" if not low or guess else "converged" if c.floor is not None or known and c.share <= 0.02 else "plateau-low"
    rose = f"; up again from {c.best:.4g}" if drop < -max(3 * error, 0.04 * c.scale) else ""
    margin = 1.0 if guess else max(c.share / limit, limit / max(c.share, 1e-9)) if known else 1.5
    if label == "plateau-high" and not guess and c.floor is None and c.baseline is None:
        margin = min(margin, UNKNOWN_FLOOR)
    return c.says(
        label,
        f"{fell} by step {turn}, then levelled off{rose}{guess}",
        margin,
        turning_step=turn,
        segments=((c.step(0), turn, "falling"), (turn, c.step(c.n), "flat")),
    )


def guessing_level(level, error):
    """Words where a level equals, to a thousandth, what a constant guess scores in a common task; "" elsewhere. A hint: the loss is not known."""
    for value, text in GUESSES:
        if abs(level - value) <= 1e-3 * value and error <= 1e-3 * value:
            return f"; this is {value:.4g}, {text}"
    return ""


def spiky(c):
    """Spikes are named, taken out, and the rest is judged by all the rules; a burst is one rise above the start that took time to heal."""
    found = c.spikes()
    if not found.size:
        return None
    kept = c.without_spikes()
    rest = next(filter(None, (rule(kept) for rule in PLAIN_RULES)))
    if rest.label == "diverged":
        return None
    events = tuple(map(place, found))
    listed = ", ".join(map(str, events[:8])) + (f" and {len(events) - 8} more" if len(events) > 8 else "")
    sure = rest if rest.label != "too-short-to-tell" else c.says("", "", 1.5)
    return replace(
        rest,
        label="spiky",
        also=(rest.label,) if rest.label != "too-short-to-tell" else (),
        events=events,
        first_bad_step=events[0],
        confidence=sure.confidence,
        detail=f"spikes at steps {listed}; between them it {rest.detail}",
    )


PLAIN_RULES = (around_zero, diverged, staircase, oscillating, flat, fallen)
RULES = (around_zero, diverged, staircase, oscillating, spiky, flat, fallen)
