"""A long curve at a glance, taken once and asked many times: the rules would else walk over millions of points a dozen times."""

from functools import cached_property

import numpy as np

BLOCK = 256  # points
_AT_ONCE = BLOCK << 8  # points that stay in a core's cache while both extremes are taken


class Outline:
    """Of steps x and values y, both (points,) float64 and not changed later: the extremes of each block of BLOCK neighbours, and what follows.

    highest, lowest  (blocks,): the extremes of each block, the last one shorter; NaN where the block holds one
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.x, self.y = x, y

    @cached_property
    def _extremes(self) -> tuple[np.ndarray, np.ndarray]:
        whole = self.y.size // BLOCK
        highest, lowest = np.empty((2, whole + bool(self.y.size % BLOCK)))
        blocks = self.y[: whole * BLOCK].reshape(-1, BLOCK)
        rows = _AT_ONCE // BLOCK
        for start in range(0, whole, rows):
            part = blocks[start : start + rows]
            part.max(1, out=highest[start : start + len(part)])
            part.min(1, out=lowest[start : start + len(part)])
        if highest.size > whole:
            highest[-1], lowest[-1] = self.y[whole * BLOCK :].max(), self.y[whole * BLOCK :].min()
        return highest, lowest

    highest = property(lambda self: self._extremes[0])
    lowest = property(lambda self: self._extremes[1])

    @cached_property
    def finite(self) -> bool:
        """No NaN and no Inf among the values."""
        return bool(np.isfinite(self.highest).all() and np.isfinite(self.lowest).all())

    @property
    def most(self) -> float:
        return float(self.highest.max())

    @property
    def least(self) -> float:
        return float(self.lowest.min())

    @property
    def has_zero(self) -> bool:
        """Some value is exactly 0."""
        if self.least > 0 or self.most < 0:  # not so where one of them is NaN
            return False
        return bool((self.y == 0.0).any())

    @cached_property
    def rising(self) -> bool:
        """Every step is finite and above the one before: the common log."""
        x = self.x
        if not x.size or not np.isfinite(x[[0, -1]]).all():
            return False
        return all(bool((x[i + 1 : i + 1 + _AT_ONCE] > x[i : i + _AT_ONCE][: x.size - 1 - i]).all()) for i in range(0, x.size - 1, _AT_ONCE))
