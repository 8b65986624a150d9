"""Curves as characters: a sparkline in one line, and a plot of several curves with its labels at their ends."""

import math
from dataclasses import dataclass
from itertools import pairwise

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.-~=+*#"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # braille bits by row and column of a cell


def finite(values) -> list[float]:
    """The values that can be drawn."""
    return [v for v in values if isinstance(v, (int, float)) and math.isfinite(v)]


def thin(values, width: int) -> list[float]:
    """At most `width` values, each the median of its stretch; NaN where a stretch holds anything non-finite."""
    values = list(values)
    if len(values) <= width:
        return [v if isinstance(v, (int, float)) else math.nan for v in values]
    cuts = [round(i * len(values) / width) for i in range(width + 1)]
    groups = [values[a:b] for a, b in pairwise(cuts)]
    return [sorted(g)[len(g) // 2] if len(finite(g)) == len(g) else math.nan for g in groups]


def use_log(values) -> bool:
    """Whether a log axis shows more: all positive and over two decades apart."""
    drawn = finite(values)
    return bool(drawn) and min(drawn) > 0 and max(drawn) / min(drawn) > 100


def sparkline(values, width: int = 40, *, unicode: bool = True) -> str:
    """One character a stretch of the curve; × (or x) where it is not finite."""
    blocks, gap = (BLOCKS, "×") if unicode else (ASCII_BLOCKS, "x")
    values = thin(values, width)
    drawn = finite(values)
    if not drawn:
        return gap * len(values)
    if use_log(drawn):
        values = [math.log(v) if math.isfinite(v) else v for v in values]
        drawn = finite(values)
    low, high = min(drawn), max(drawn)
    span = high - low
    least = max(0.1 * max(abs(low), abs(high)), 1e-30)
    if span < least:  # noise of a flat curve must not fill the scale; its middle lies within a block, not between two
        low, span = (low + high) / 2 - 0.55 * least, least
    return "".join(blocks[min(7, max(0, int((v - low) / span * 8)))] if math.isfinite(v) else gap for v in values)


@dataclass(frozen=True)
class Line:
    """One row of a plot: the axis label on the left, cells of (character, curve index or None), labels on the right."""

    axis: str
    cells: tuple[tuple[str, int | None], ...]
    labels: tuple[tuple[str, int], ...]


def _range(numbers: list[float]) -> tuple[float, float]:
    low, high = min(numbers), max(numbers)
    if high - low <= 1e-9 * max(1e-30, abs(high)):
        room = abs(high) * 0.5 or 1.0
        return low - room, high + room
    return low, high


def plot(curves: dict[str, tuple], *, width: int = 50, height: int = 7, unicode: bool = True, log_x: bool = False,
         log_y: bool | None = None, show=str) -> list[Line]:
    """Curves in one frame, each labelled at its right end.

    curves  {label: (xs, ys)}; points that are not finite (or not positive on a log axis) are left out
    log_y   None: decided by `use_log`          show  how numbers of the y axis are written
    -> rows from top to bottom; [] if nothing can be drawn
    """
    log_y = use_log([y for _, ys in curves.values() for y in ys]) if log_y is None else log_y
    drawn = {}
    for label, (xs, ys) in curves.items():
        points = [(math.log10(x) if log_x else float(x), math.log10(y) if log_y else float(y))
                  for x, y in zip(xs, ys)
                  if len(finite((x, y))) == 2 and (x > 0 or not log_x) and (y > 0 or not log_y)]
        drawn[label] = sorted(points)
    everything = [p for points in drawn.values() for p in points]
    if not everything:
        return []
    x_range, y_range = _range([p[0] for p in everything]), _range([p[1] for p in everything])
    cells, ends = _cells(drawn, x_range, y_range, width, height, unicode)
    back = (lambda y: 10**y) if log_y else (lambda y: y)
    axis = {0: show(back(y_range[1])), height - 1: show(back(y_range[0]))}
    margin = max(map(len, axis.values()))
    return [Line(axis.get(row, "").rjust(margin), tuple(cells[row]), tuple(ends.get(row, ()))) for row in range(height)]


def _cells(drawn, x_range, y_range, width, height, unicode):
    """The painted cells, and for each row the labels of the curves that end there (moved to a free row)."""
    per_cell = (2, 4) if unicode else (1, 1)
    columns, rows = width * per_cell[0], height * per_cell[1]
    bits = [[0] * width for _ in range(height)]
    owner: list[list[int | None]] = [[None] * width for _ in range(height)]
    ends: dict[int, list[tuple[str, int]]] = {}

    def paint(column, row, index):
        cell = row // per_cell[1], column // per_cell[0]
        bits[cell[0]][cell[1]] |= _DOTS[row % 4][column % 2] if unicode else 1
        owner[cell[0]][cell[1]] = index

    for index, (label, points) in enumerate(drawn.items()):
        at = [(round((x - x_range[0]) / (x_range[1] - x_range[0]) * (columns - 1)),
               round((y_range[1] - y) / (y_range[1] - y_range[0]) * (rows - 1))) for x, y in points]
        for (c0, r0), (c1, r1) in zip(at, at[1:] or at):
            for i in range(max(abs(c1 - c0), abs(r1 - r0), 1) + 1):
                share = i / max(abs(c1 - c0), abs(r1 - r0), 1)
                paint(round(c0 + (c1 - c0) * share), round(r0 + (r1 - r0) * share), index)
        if at:
            wanted = at[-1][1] // per_cell[1]
            free = min(range(height), key=lambda row: (row in ends, abs(row - wanted)))
            ends.setdefault(free, []).append((label, index))
    marks = "*o+x#@"
    cells = [[(" ", None) if not bits[r][c] else
              (chr(0x2800 + bits[r][c]) if unicode else marks[(owner[r][c] or 0) % len(marks)], owner[r][c])
              for c in range(width)] for r in range(height)]
    return cells, ends
