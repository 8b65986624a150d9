"""Simulated curves with known truth: `python bench/curves.py [--seed S] [--repeats R] [--speed]` prints who is taken for whom.

Every label x noise (0.5 to 20 % of the level) x length (20 to 50 000) x sampling (even, random, gappy) x kind of noise (normal, heavy-tailed t
with 2.5 degrees of freedom, autoregressive with 0.9, gamma-skewed); the size is drawn from ln 2, ln 10, ln 1000, 1, 10 000. The rules of
whyloss.curves were tuned on other seeds than the default one.

When "too-short-to-tell" is right: a curve is undecidable when an oracle that knows the noise could not tell its label from its neighbour. With
s = sd of one point (robust sd for heavy tails) and N = points / (points per independent point; 19 for AR(0.9)), medians have the standard error
1.25 s / sqrt(N):
  flat, plateau, converged   a fall of 12 % of the scale is not excluded: 2 (1 + 8 / N) standard errors of the difference of two halves (of the run
                             when flat, of its late half else); 8 / N because the noise must be estimated from the same points
  still-improving, overfitting, learning-rate-limited, diverged
                             the deciding change is under 5 standard errors of the difference of the two spans (quarters, or the windows beside a
                             cut) it is seen in
  spiky                      the spikes are under 10 s of the local level, or fewer than two were sampled
  oscillating                the swing is under 4 s (alternation and slow swings), or fewer than 24 points are there
  not-a-loss-curve           fewer than 10 independent points, or (an accuracy) noise above 5 %
  underfitting, healthy      (pairs) as plateau, for the validation
An undecidable curve is right when it is called too-short-to-tell or by its true name (or flat-from-start when at the baseline), or where it does
fall, "healthy" (a fall; whether it has levelled off cannot be told); its share is printed apart. A decidable one is right by its name only (and by
the few pairs of names in SAME that differ by degree).
"""

import argparse
from collections import Counter, defaultdict
from math import log, sqrt
from time import perf_counter

import numpy as np

from whyloss.curves import read_curve, read_pair

NOISES = (0.005, 0.02, 0.05, 0.1, 0.2)
LENGTHS = (20, 50, 200, 2000, 50_000)
SAMPLINGS = ("even", "random", "gappy")
KINDS = ("normal", "heavy-tailed", "autoregressive", "skewed")
SCALES = (log(2), log(10), log(1000), 1.0, 1e4)
SINGLES = (
    "flat-at-baseline",
    "flat-from-start",
    "still-improving",
    "plateau-high",
    "plateau-low",
    "converged",
    "diverged",
    "non-finite",
    "spiky",
    "oscillating",
    "learning-rate-limited-plateau",
    "not-a-loss-curve",
)
PAIRS = ("overfitting", "underfitting", "healthy")
# Without a known floor, plateau-low and converged differ by degree only; a fall that is nearly over is healthy, still-improving or low by degree.
SAME = {
    ("plateau-low", "converged"),
    ("converged", "plateau-low"),
    ("still-improving", "healthy"),
    ("plateau-low", "healthy"),
    ("converged", "healthy"),
}

LESS = {("flat-at-baseline", "flat-from-start")}  # true, only less is said
FALL = {"still-improving", "plateau-high", "plateau-low", "converged", "learning-rate-limited-plateau"}


def sampled(n, kind, rng):
    """(n,) share of the run at each logged point, from 0 to 1."""
    if kind == "random":
        return np.sort(np.concatenate([[0.0, 1.0], rng.random(n - 2)]))
    t = np.linspace(0, 1, n)
    if kind == "gappy":
        wide = np.linspace(0, 1, int(n * 1.5))
        keep = np.ones(wide.size, bool)
        for begin in rng.uniform(0.1, 0.8, 2):
            keep &= ~((wide > begin) & (wide < begin + 0.16))
        wide = wide[keep]
        t = (
            wide[np.linspace(0, wide.size - 1, n).astype(int)]
            if wide.size >= n
            else np.sort(np.concatenate([wide, rng.choice(wide, n - wide.size) + 1e-9]))
        )
    return t


def noise_of(kind, n, rng):
    """((n,) noise of robust sd about 1, points per independent point)."""
    if kind == "heavy-tailed":
        return rng.standard_t(2.5, n) / 1.13, 1.0
    if kind == "skewed":
        return (rng.gamma(4.0, 1.0, n) - 4.0) / 2.0, 1.0
    if kind == "autoregressive":
        from scipy.signal import lfilter

        return lfilter([sqrt(1 - 0.81)], [1, -0.9], rng.normal(size=n + 200))[200:], 19.0
    return rng.normal(size=n), 1.0


def shape(label, t, rng):
    """(level at each point as a share of the start, what the reader is told in the same unit, deciding change, share of points it is seen in)."""
    n, known = t.size, {}
    fall = lambda low, rate: low + (1 - low) * np.exp(-rate * t)  # noqa: E731
    if label in ("flat-at-baseline", "flat-from-start"):
        known = {"baseline": 1.0} if label == "flat-at-baseline" else {}
        return np.ones(n), known, 0.12, 0.5
    if label == "still-improving":
        m = 1 - rng.uniform(0.5, 0.85) * t ** rng.uniform(0.7, 1.2) if rng.random() < 0.5 else np.exp(-t * rng.uniform(1, 2))
        return m, known, float(np.interp(0.62, t, m) - np.interp(0.88, t, m)), 0.25
    if label == "plateau-high":
        return fall(rng.uniform(0.42, 0.7), rng.uniform(10, 30)), known, 0.12, 0.25
    if label == "plateau-low":
        return fall(rng.uniform(0.05, 0.2), rng.uniform(10, 30)), known, 0.12, 0.25
    if label == "converged":
        floor = rng.uniform(0.1, 0.5)
        return fall(floor + 0.08 * (1 - floor), rng.uniform(10, 30)), {"floor": floor, "baseline": 1.0}, 0.12 * (1 - floor), 0.25
    if label == "diverged":
        turn, kind = rng.uniform(0.2, 0.7), rng.integers(3)
        if kind == 0:
            m = np.exp(-3 * np.minimum(t, turn)) + np.exp(np.maximum(t - turn, 0) * rng.uniform(4, 12) / (1 - turn)) - 1
        else:
            m = np.where(t < turn, np.exp(-4 * t), rng.uniform(2, 5)) if kind == 1 else np.where(t > 0, rng.uniform(3, 50), 1.0)
        return m, known, float(m[-1] - m.min()) / max(1.0, float(m[-1])), 0.1
    if label == "non-finite":
        return np.where(t < rng.uniform(0.2, 0.9), np.exp(-3 * t), np.nan), known, 1.0, 1.0
    if label == "spiky":
        m, height = fall(0.1, rng.uniform(3, 10)), rng.uniform(0.8, 2)
        count = max(3, int(n * rng.uniform(0.01, 0.05)))
        m[rng.choice(np.arange(max(n // 8, 3), n), count, replace=False)] += height
        return m, known, height, None
    if label == "oscillating":
        kind, amplitude = rng.integers(3), rng.uniform(0.4, 0.6)
        middle = rng.uniform(0.6, 1)
        swing = [np.sin(2 * np.pi * t * rng.uniform(3, 8) + rng.uniform(0, np.pi)), np.resize([1.0, -1.0], n), rng.uniform(-1.3, 1.3, n)][kind]
        return middle + min(amplitude, 0.6 * middle) * swing, known, 2 * min(amplitude, 0.6 * middle), None
    if label == "learning-rate-limited-plateau":
        part = np.digitize(t, [0.4, 0.7])
        level = np.array([0.6, 0.35, 0.22])
        begin = np.array([0, 0.4, 0.7])
        m = level[part] + np.array([0.4, 0.25, 0.13])[part] * np.exp(-40 * (t - begin[part]))
        return m, {"learning_rate": 0.1 ** (1.0 + part)}, 0.25, 0.1
    if rng.random() < 0.5:  # a value around 0
        return np.zeros(n), {"around_zero": True}, 1.0, 1.0
    return 1 - (1 - rng.uniform(0.05, 0.3)) * np.exp(-t * rng.uniform(4, 20)), {"inside": True}, 0.5, 0.25  # an accuracy


def error_of_median(noise, tau, n, share):
    """Standard error of the difference of two medians, each over this share of the points, in units of the level."""
    return 1.25 * sqrt(2) * noise * sqrt(tau / max(n * share, tau))


def decidable(label, known, m, change, share, noise, tau, n):
    """The power rule of this file's first lines."""
    if label == "non-finite":
        return True
    late = float(np.nanmedian(m[-max(3, n // 4) :]))
    if label == "spiky":
        heights = np.abs(m - np.nanmedian(m)) > 0.3
        return change > 10 * noise * float(np.median(m)) and heights.sum() >= 2 and n >= 20
    if label == "oscillating":
        return change > 4 * noise * float(np.median(m)) and n >= 24
    if label == "not-a-loss-curve":
        return n / tau >= 10 and ("around_zero" in known or noise <= 0.05)
    size = {"flat-at-baseline": 1.0, "flat-from-start": 1.0, "diverged": 1.0}.get(label, late)
    error = error_of_median(noise * max(size, 0.02), tau, n, share)
    if label in ("still-improving", "diverged"):
        return change > 5 * error
    if label == "learning-rate-limited-plateau":
        return change > 5 * error_of_median(noise * 0.6, tau, n, 0.15) and n * 0.3 >= 8
    return margin(n, share, tau) * error < change


def margin(n, share, tau):
    return 2 * (1 + 8 / max(2 * n * share / tau, 1))


def one(label, n, noise, kind, sampling, scale, rng):
    """(label said, decidable) of one simulated curve."""
    t = sampled(n, sampling, rng)
    m, known, change, share = shape(label, t, rng)
    e, tau = noise_of(kind, n, rng)
    sure = decidable(label, known, m, change, share, noise, tau, n)
    told = {k: v * scale for k, v in known.items() if k in ("baseline", "floor")} | {k: v for k, v in known.items() if k == "learning_rate"}
    if "around_zero" in known:
        y = scale * e
    elif "inside" in known:
        y = np.clip(m + 0.3 * noise * e, 0, 1)
    else:
        y = scale * np.abs(m * (1 + noise * e))
    return read_curve(np.round(t * 100 * n), y, **told).label, sure


def one_pair(label, n, noise, kind, sampling, scale, rng):
    points = min(max(n // 4, 10), 400)
    t, v = sampled(n, sampling, rng), sampled(points, sampling, rng)
    (e, _), (f, tau) = noise_of(kind, n, rng), noise_of(kind, points, rng)
    rate = rng.uniform(8, 20)
    fall = lambda x, low: low + (1 - low) * np.exp(-rate * x)  # noqa: E731
    if label == "overfitting":
        turn, rise = rng.uniform(0.15, 0.5), rng.uniform(0.3, 1.5)
        low = rng.uniform(0.3, 0.5)
        fit, check = 0.02 + 0.98 * np.exp(-rng.uniform(3, 6) * t), fall(v, low) + rise * low * np.maximum(v - turn, 0) / (1 - turn)
        sure = 0.6 * rise * low > 5 * error_of_median(noise * low * (1 + rise / 2), tau, points, 0.2) and points >= 10
    elif label == "underfitting":
        low = rng.uniform(0.45, 0.7)
        fit, check = fall(t, low), fall(v, low * 1.05)
        sure = margin(points, 0.25, tau) * error_of_median(noise * low, tau, points, 0.25) < 0.12
    else:
        low = rng.uniform(0.05, 0.25)
        fit, check = fall(t, low), fall(v, low * rng.uniform(0.8, 1.3))
        sure = margin(points, 0.25, tau) * error_of_median(noise * low, tau, points, 0.25) < 0.12
    y, z = scale * np.abs(fit * (1 + noise * e)), scale * np.abs(check * (1 + noise * f))
    return read_pair(np.round(t * 100 * n), y, np.round(v * 100 * n), z).label, sure


def speed():
    """10 million points: judged in the time that polars needs to read their CSV?"""
    import tempfile
    from pathlib import Path

    import polars

    n, rng = 10_000_000, np.random.default_rng(5)
    t = np.arange(n) / n
    y = (0.2 + 2 * np.exp(-6 * t)) * (1 + 0.1 * rng.normal(size=n))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        polars.DataFrame({"step": np.arange(n), "loss": y}).write_csv(path)
        begin = perf_counter()
        table = polars.read_csv(path)
        steps, values = table["step"].cast(polars.Float64).to_numpy(), table["loss"].to_numpy()
        middle = perf_counter()
        reading = read_curve(steps, values)
        end = perf_counter()
    print(f"10 million points: polars reads the CSV in {middle - begin:.2f} s, the curve is judged in {end - middle:.2f} s: {reading.label}")


def table(confusion, labels, title):
    said = sorted({s for (_, s), c in confusion.items() if c})
    print(f"\n{title}: rows are the truth\n{'':32}" + "".join(f"{s[:12]:>13}" for s in said))
    for label in labels:
        print(f"{label:32}" + "".join(f"{confusion[label, s] or '.':>13}" for s in said))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--speed", action="store_true", help="only time 10 million points")
    parser.add_argument("--cells", action="store_true", help="also list the worst cells")
    options = parser.parse_args()
    if options.speed:
        return speed()
    rng, clear, dim, by = np.random.default_rng(options.seed), Counter(), Counter(), defaultdict(Counter)
    for label in SINGLES + PAIRS:
        for n in LENGTHS:
            for noise in NOISES:
                for kind in KINDS:
                    for sampling in SAMPLINGS:
                        for _ in range(options.repeats):
                            make = one_pair if label in PAIRS else one
                            said, sure = make(label, n, noise, kind, sampling, SCALES[rng.integers(5)], rng)
                            (clear if sure else dim)[label, said] += 1
                            good = (
                                said == label
                                or (label, said) in SAME
                                or not sure
                                and (said == "too-short-to-tell" or said == "healthy" and label in FALL or (label, said) in LESS)
                            )
                            for key in (("length", n), ("noise", noise), ("kind", kind), ("sampling", sampling), ("label", label)):
                                by[key][(sure, good)] += 1
                            if not good:
                                by["cell", f"{label} -> {said}, n={n}, noise={noise}, {kind}, {sampling}"][(sure, good)] += 1
    table(clear, SINGLES + PAIRS, "decidable curves")
    table(dim, SINGLES + PAIRS, "undecidable curves (too-short-to-tell is right)")
    print()
    for (axis, value), c in by.items():
        if axis != "cell":
            shares = (f"{c[sure, True]:5} of {c[sure, True] + c[sure, False]:5}" for sure in (True, False))
            print(f"{axis:10}{value!s:32} decidable {next(shares)}   undecidable {next(shares)}")
    good, all_clear = sum(c[True, True] for (a, _), c in by.items() if a == "label"), clear.total()
    dim_good = sum(c[False, True] for (a, _), c in by.items() if a == "label")
    print(f"\ndecidable: {good} of {all_clear} right ({good / all_clear:.1%})")
    print(f"undecidable: {dim_good} of {dim.total()} right ({dim_good / dim.total():.1%}); all: {(good + dim_good) / (all_clear + dim.total()):.1%}")
    if options.cells:
        for (axis, value), c in sorted(by.items(), key=str):
            if axis == "cell":
                print(f"{c[True, False]:3} decidable {c[False, False]:3} undecidable  {value}")


if __name__ == "__main__":
    main()
