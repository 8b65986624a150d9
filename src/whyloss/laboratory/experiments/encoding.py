"""Was a column computed from the labels of its own rows? Exact: its values are means of 0 and 1 over few rows, and tell the label of some."""

from itertools import combinations

import torch

ROWS = 6        # rows of a value at least, to be looked at
FEW = 12        # rows of a group at most: their fractions are told apart
EXACT = 2e-4    # of the column's range: values in single precision, standardised
PURE = 0.1      # of the rows at such values: in large groups a row's own label weighs nothing, and a few small ones among them do no harm
TRIED = 5       # lowest counts, of which some may not occur or another value may be among them
MIXED = 4       # values at fractions between 0 and 1 at least


def mean_of_own_labels(column: torch.Tensor, labels: torch.Tensor) -> bool:
    """Whether values are T/n, or (T + s p)/(n + s), for groups of n rows of which T have label 1, the row itself being one of them.

    Then rows at T = 0 all have label 0 and rows at T = n all have label 1, while no other value does; means over other rows (earlier ones,
    other folds, all but itself) leave both labels some chance at every value.
    """
    if set(labels.unique().tolist()) != {0, 1}:
        return False
    values, where, rows = column.double().unique(return_inverse=True, return_counts=True)
    if len(values) < 2 + MIXED or len(values) > len(column) / 3:
        return False
    ones = torch.zeros(len(values), dtype=torch.double, device=column.device).index_put_((where,), labels.double(), accumulate=True)
    often = rows >= ROWS
    alone = ((ones == 0) | (ones == rows)) & often
    if float(rows[alone].sum()) < PURE * len(column):
        return False
    values, share = values[often], (ones / rows)[often]
    return any(_plain(v, s) or _smoothed(v, s) for v, s in ((values, share), (values.flip(0).neg(), share.flip(0))))


def _plain(values, share) -> bool:
    """Fractions T/n between the lowest value (0: no row has label 1) and the highest (1: every row has)."""
    if len(values) < 2 + MIXED or float(share[0]) > 0 or float(share[-1]) < 1:
        return False
    at = ((values - values[0]) / (values[-1] - values[0]))[1:-1]
    fractions = torch.tensor([t / n for n in range(2, FEW + 1) for t in range(1, n)], dtype=torch.double, device=values.device).unique()
    off = (at[:, None] - fractions).abs().min(1).values
    return bool((off < EXACT).float().mean() >= 0.9 and ((share[1:-1] > 0) & (share[1:-1] < 1)).float().mean() >= 0.9)


def _smoothed(values, share) -> bool:
    """B + A/(n + s) for n = 1, 2, 3, ... where no row has label 1, and the mirrored values where every row has."""
    none, every = values[share == 0].flip(0), values[share == 1]     # from the group of one row on
    if len(none) < 3 or len(every) < 3 or int(((share > 0) & (share < 1)).sum()) < MIXED:
        return False
    return any(_fits(values, share, three, float(high)) for three in combinations(none[:TRIED].tolist(), 3) for high in every[:3])


def _fits(values, share, three, high: float) -> bool:
    """Whether all values are explained, if the three are those of 1, 2 and 3 rows without label 1 and `high` that of one row with it."""
    one, two, three = three
    span, none, every = values[-1] - values[0], values[share == 0], values[share == 1]
    bend = (one - two) / (two - three)                              # (3 + s)/(1 + s)
    if not 1.01 < bend < 3.0 - 1e-3:
        return False
    s = (3 - bend) / (bend - 1)
    scale = (one - two) * (1 + s) * (2 + s)
    base, unit = one - scale / (1 + s), (high - one) * (1 + s)
    n = torch.arange(1, 41, dtype=torch.double, device=values.device)
    lines = (none, base + scale / (n + s)), (every, base + (scale + unit * n) / (n + s))
    fits = [(found[:, None] - line).abs().min(1).values < EXACT * span for found, line in lines]
    checked = int(fits[0].sum()) - 3 + int(fits[1].sum()) - 1         # three and one of them gave the numbers
    return checked >= 2 and all(bool(f.float().mean() >= 0.8) for f in fits) and _between(values, share, base, scale, unit, s, span)


def _between(values, share, base, scale, unit, s, span) -> bool:
    """Whether the mixed values are (T + s p)/(n + s) for whole T and n."""
    mixed = values[(share > 0) & (share < 1)]
    grid = torch.tensor([base + (scale + unit * t) / (n + s) for n in range(2, FEW + 1) for t in range(1, n)], dtype=torch.double,
                        device=values.device)
    return bool(((mixed[:, None] - grid).abs().min(1).values < EXACT * span).float().mean() >= 0.9)
