"""Robust numbers of a noisy series: noise blind to trend, running and thinned medians, slope and its sign test."""

from math import sqrt

import numpy as np


def point_noise(y):
    """Standard deviation from point to point, blind to any smooth trend; robust against spikes."""
    if y.size < 4:
        return float(np.ptp(y)) if y.size else 0.0
    d = np.abs(np.diff(y, 2))
    return float(np.median(d) / 0.6745 or d.mean()) / sqrt(6)


def shortened(x, y, most):
    """Medians of up to nine points of each block, at most about so many blocks, each at the place of its middle; short curves as they are."""
    size = y.size // most
    if size < 2:
        return x, y
    kept = y.size // size * size
    return x[size // 2 : kept : size], np.median(y[:kept].reshape(-1, size)[:, :: -(-size // 9)], axis=1)


def correlated_error(y, count):
    """Standard error of the median of `count` neighbours when they are alike: from what is left of the curve beside a polynomial of degree 4."""
    t = np.linspace(-1, 1, y.size)
    r = y - np.polynomial.chebyshev.chebval(t, np.polynomial.chebyshev.chebfit(t, y, 4))
    r = np.clip(r, *np.quantile(r, [0.02, 0.98]))
    power = float(r @ r)
    r1 = float(r[1:] @ r[:-1]) / (power or 1.0)
    r1 = min(r1 + (3 + 8 * max(r1, 0)) / y.size, 0.97)  # the fit takes some of the correlation with it
    tau = (1 + r1) / (1 - r1) if r1 > 0.3 else 1.0
    return 1.25 * sqrt(power / y.size) * sqrt(min(1.0, tau / count))


def middle_value(y):
    """The median; without numpy's overhead for few values, of which there are many."""
    if y.size > 200 or not y.size:
        return float(np.median(y))
    ordered = sorted(y.tolist())
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def running_median(y, width):
    if width > 64:  # long curves: coarse medians, interpolated
        return np.interp(np.arange(y.size), *thinned(np.arange(y.size, dtype=float), y, max(8, 2 * y.size // width)))
    padded = np.concatenate([y[: width // 2][::-1], y, y[y.size - width // 2 :][::-1]])
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)


def thinned(x, y, most):
    """Medians of equal counts, at most so many. x: sorted, as steps are, so that its medians are the middles of the blocks."""
    edges = np.linspace(0, y.size, min(most, y.size) + 1).astype(int)
    starts, sizes = edges[:-1], np.diff(edges)
    found = np.empty((2, sizes.size))
    for size in np.unique(sizes):  # two sizes at most: all blocks of one size in one call
        rows = np.flatnonzero(sizes == size)
        places = starts[rows, None] + np.arange(size)
        found[0, rows] = (x[places[:, (size - 1) // 2]] + x[places[:, size // 2]]) / 2
        found[1, rows] = np.median(y[places], axis=1)
    return found[0], found[1]


def trend(x, y):
    """(Theil-Sen slope, Mann-Kendall z) of a few points."""
    (i, j), n = np.triu_indices(y.size, 1), y.size
    s = np.sign(y[j] - y[i]).sum()
    return (float(np.median((y[j] - y[i]) / (x[j] - x[i]))), float((s - np.sign(s)) / sqrt(n * (n - 1) * (2 * n + 5) / 18))) if n > 1 else (0.0, 0.0)
