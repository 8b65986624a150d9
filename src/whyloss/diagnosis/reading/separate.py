"""Which setting separates good runs from bad: exact or permutation tests, corrected for the number of settings tried (Holm 1979)."""

from dataclasses import dataclass
from math import comb

import numpy as np

ENOUGH = 20_000  # distributions of the bad runs: all of them where there are fewer, else this many drawn
MOST_LEVELS = 24  # numbers with more distinct values are put into this many bins of equal counts
LEVEL = 0.05  # of the corrected p
GOOD_ENOUGH = 2  # runs of each kind, at least


@dataclass(frozen=True)
class Separation:
    """One setting. p: of a difference this large by chance; corrected: after Holm; twins: settings that split these runs in the same way."""

    setting: str
    p: float
    corrected: float
    text: str
    twins: tuple[str, ...] = ()

    @property
    def separates(self) -> bool:
        return self.corrected <= LEVEL


def separate(settings: list[dict], bad: list[bool], *, seed: int = 0) -> list[Separation]:
    """Every testable setting, the smallest p first. Too few good or bad runs: nothing is testable and the list is empty."""
    bad = np.asarray(bad, bool)
    if min(bad.sum(), (~bad).sum()) < GOOD_ENOUGH:
        return []
    rng, tried, seen = np.random.default_rng(seed), [], {}
    for name in sorted({key for row in settings for key in row}, key=str):
        has = np.array([row.get(name) is not None for row in settings])
        if has.sum() < max(6, len(settings) / 2):
            continue
        values, own = [row[name] for row, h in zip(settings, has) if h], bad[has]
        if min(own.sum(), (~own).sum()) < GOOD_ENOUGH:
            continue
        levels = _levels(values)
        if levels is None:
            continue
        place, labels, ordered = levels
        same = tuple(np.unique(place, return_inverse=True)[1]) if ordered else tuple(_by_first(place))
        key = (same, ordered, tuple(has))
        if key in seen:  # it changes with another setting: the two cannot be told apart here
            tried[seen[key]][3].append(name)
            continue
        p = _p(place, len(labels), own, ordered, rng)
        seen[key] = len(tried)
        tried.append([p, name, _text(name, place, labels, own, ordered), []])
    order = sorted(tried, key=lambda t: t[0])
    found, worst = [], 0.0
    for i, (p, name, text, twins) in enumerate(order):
        worst = max(worst, min(1.0, p * (len(order) - i)))  # Holm: a later setting is never more certain than an earlier one
        found.append(Separation(name, p, worst, text, tuple(twins)))
    return found


def _by_first(place):
    names = {}
    return [names.setdefault(p, len(names)) for p in place]


def _levels(values):
    """(place of each run among the levels, names of levels, in order?) or None for a setting that is constant or different in every run of text."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool) and v == v]
    if len(numbers) == len(values):
        distinct, place = np.unique(np.asarray(values, float), return_inverse=True)
        if distinct.size < 2:
            return None
        if distinct.size > MOST_LEVELS:
            edges = np.unique(np.quantile(np.asarray(values, float), np.linspace(0, 1, MOST_LEVELS + 1)[1:-1]))
            place = np.searchsorted(edges, np.asarray(values, float), side="right")
            used, place = np.unique(place, return_inverse=True)
            return place, [float(np.median(np.asarray(values, float)[place == i])) for i in range(used.size)], True
        return place, distinct.tolist(), True
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    distinct, place = np.unique(texts, return_inverse=True)
    if distinct.size < 2 or distinct.size > max(2, len(texts) // 2):  # a name of its own for each run separates everything and means nothing
        return None
    return place, distinct.tolist(), False


def _statistic(counts, totals, n_bad, ordered):
    """(distributions,) how far the bad runs sit from an even share; counts: (distributions, levels) bad runs in each level."""
    expected = totals * n_bad / totals.sum()
    spread = ((counts - expected) ** 2 / np.maximum(expected, 1e-12)).sum(1)
    if not ordered or totals.size == 2:
        return spread
    ranks = np.cumsum(totals) - (totals - 1) / 2  # mid-ranks of the levels
    return np.abs(counts @ ranks - expected @ ranks)


def _p(place, levels, bad, ordered, rng) -> float:
    totals = np.bincount(place, minlength=levels)
    own = np.bincount(place[bad], minlength=levels)
    n_bad = int(bad.sum())
    if levels == 2:  # Fisher's exact test
        counts = np.arange(max(0, n_bad - totals[1]), min(n_bad, totals[0]) + 1)
        ways = [comb(int(totals[0]), int(k)) * comb(int(totals[1]), n_bad - int(k)) for k in counts]
        mine = ways[int(own[0] - counts[0])]
        return float(sum(w for w in ways if w <= mine) / sum(ways))
    observed = _statistic(own[None], totals, n_bad, ordered)[0]
    small = comb(len(place), n_bad) <= ENOUGH
    if small:
        from itertools import combinations

        drawn = np.array([np.bincount(place[list(c)], minlength=levels) for c in combinations(range(len(place)), n_bad)])
    else:
        drawn = rng.multivariate_hypergeometric(totals, n_bad, size=ENOUGH, method="marginals")
    far = int(np.sum(_statistic(drawn, totals, n_bad, ordered) >= observed * (1 - 1e-9)))
    return far / len(drawn) if small else (far + 1) / (ENOUGH + 1)


def _text(name, place, labels, bad, ordered) -> str:
    """ "lr: 0 of 6 bad up to 0.01, 5 of 6 bad from 0.1": the cut that splits best, or the shares of each value."""
    totals = np.bincount(place, minlength=len(labels))
    own = np.bincount(place[bad], minlength=len(labels))
    if ordered and len(labels) > 2:
        below, total = np.cumsum(own)[:-1], np.cumsum(totals)[:-1]
        gap = np.abs(below / total - (own.sum() - below) / (totals.sum() - total))
        k = int(np.argmax(gap))
        rest = f"{own.sum() - below[k]} of {totals.sum() - total[k]} bad from {labels[k + 1]:g}"
        return f"{name}: {below[k]} of {total[k]} bad up to {labels[k]:g}, {rest}"
    shown = sorted(range(len(labels)), key=lambda i: -own[i] / totals[i])[:6]
    more = f" and {len(labels) - 6} more values" if len(labels) > 6 else ""
    value = (lambda v: f"{v:g}") if ordered else str
    return f"{name}: " + ", ".join(f"{own[i]} of {totals[i]} bad with {value(labels[i])}" for i in shown) + more
