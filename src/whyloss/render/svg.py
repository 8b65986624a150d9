"""Curves as points of an SVG drawing. Numbers only: texts are put in by the template, which escapes them."""

import math
from dataclasses import dataclass

from whyloss.render import words
from whyloss.render.chart import finite, use_log
from whyloss.render.figures import level

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 72, 130, 12, 24
HEAT_LEFT = 130  # room for the names of layers


@dataclass(frozen=True)
class Curve:
    """One curve: its pieces as `points` attributes (cut where values are not finite), and where its label goes."""

    label: str
    pieces: tuple[str, ...]
    label_x: float
    label_y: float
    colour: int


@dataclass(frozen=True)
class Chart:
    """A drawing with its axes: (position, text) of the ticks."""

    curves: tuple[Curve, ...]
    y_ticks: tuple[tuple[float, str], ...]
    x_ticks: tuple[tuple[float, str], ...]
    log: bool
    gaps: int
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM
    span: tuple[float, float] = (0.0, 1.0)
    log_x: bool = False
    guides: tuple[tuple[float, str], ...] = ()

    def x(self, at: float) -> float:
        """Where a place on the x axis is drawn; places outside are moved to its ends."""
        at = math.log10(max(at, 1e-300)) if self.log_x else at
        share = min(1.0, max(0.0, (at - self.span[0]) / (self.span[1] - self.span[0])))
        return round(self.left + share * (self.right - self.left), 1)


def extremes(xs, ys, buckets: int = 400) -> list[tuple[float, float]]:
    """The lowest and the highest point of each bucket, in order: spikes survive, and so do non-finite points."""
    points = list(zip(xs, ys))
    if len(points) <= 2 * buckets:
        return points
    kept = []
    for i in range(buckets):
        part = points[len(points) * i // buckets: len(points) * (i + 1) // buckets]
        good = [k for k, (_, y) in enumerate(part) if finite([y])]
        bad = [k for k, (_, y) in enumerate(part) if not finite([y])][:1]
        picks = {min(good, key=lambda k: part[k][1]), max(good, key=lambda k: part[k][1])} if good else set()
        kept += [part[k] for k in sorted(picks | set(bad))]
    return kept


def chart(curves: dict[str, tuple], *, first_colour: int = 0, log_x: bool = False, log_y: bool | None = None,
          guides: tuple = (), names: tuple[str, ...] = ()) -> Chart | None:
    """{label: (xs, ys)} -> a drawing; None if there is not a single finite point.

    log_y   None: decided by `use_log`; what is not positive is then cut out      guides  (value, text) of horizontal lines
    names   of the x values 0, 1, ...; the first and the last stand under the axis
    """
    log = use_log([y for _, ys in curves.values() for y in ys]) if log_y is None else log_y
    curves = {label: [(x, y if not log or y is None or not y <= 0 else math.nan) for x, y in extremes(xs, ys) if x > 0 or not log_x]
              for label, (xs, ys) in curves.items()}
    every = [p for points in curves.values() for p in points if len(finite(p)) == 2]
    if not every:
        return None
    scale, scale_x = math.log10 if log else float, math.log10 if log_x else float
    x0, x1 = _span([scale_x(x) for x, _ in every])
    y0, y1 = roomy([scale(y) for _, y in every] + [scale(value) for value, _ in guides], log=log)
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def at(x, y):
        return (round(LEFT + (scale_x(x) - x0) / (x1 - x0) * (right - LEFT), 1),
                round(bottom - (scale(y) - y0) / (y1 - y0) * (bottom - TOP), 1))

    drawn = _curves(curves, at, first_colour)
    back = (lambda y: 10**y) if log else (lambda y: y)
    ticks = [y0, (y0 + y1) / 2, y1]
    ends = (names[0], names[-1]) if len(names) > 1 else tuple(words.number(10**x if log_x else x) for x in (x0, x1))
    gaps = sum(len(finite(p)) < 2 for points in curves.values() for p in points)
    first = every[0][0]
    return Chart(drawn, tuple((at(first, back(t))[1], words.number(back(t))) for t in ticks), ((LEFT, ends[0]), (right, ends[1])), log, gaps,
                 span=(x0, x1), log_x=log_x, guides=tuple((at(first, value)[1], text) for value, text in guides))


def _curves(curves: dict[str, list], at, first_colour: int) -> tuple[Curve, ...]:
    """The drawn pieces of each curve, its label beside its end or in the nearest free place."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    drawn, taken = [], []
    for colour, (label, points) in enumerate(curves.items()):
        pieces, piece = [], []
        for point in [*points, (0, math.nan)]:
            if len(finite(point)) == 2:
                piece.append(at(*point))
            elif piece:
                pieces.append(" ".join(f"{x},{y}" for x, y in (piece if len(piece) > 1 else piece * 2)))
                piece = []
        ends = [at(*p) for p in points if len(finite(p)) == 2]
        if ends:
            wanted = ends[-1][1]
            free = [y for y in range(TOP, bottom + 1) if all(abs(y - other) >= 14 for other in taken)]
            y = min(free or [wanted], key=lambda y: abs(y - wanted))
            y = wanted if y == round(wanted) else y
            taken.append(y)
            drawn.append(Curve(label, tuple(pieces), right + 6, y + 4, (first_colour + colour) % 6))
    return tuple(drawn)


@dataclass(frozen=True)
class Cells:
    """A picture over rows and columns: (x, y, width, height, colour 0 to 8, or "bad") of each cell, and its ends in words."""

    cells: tuple[tuple, ...]
    rows: tuple[tuple[float, str], ...]
    columns: tuple[tuple[float, str], ...]
    ends: tuple[str, str]
    height: int = HEIGHT
    width: int = WIDTH
    bottom: int = HEIGHT - BOTTOM


def heat(picture, *, rows: int = 48, columns: int = 60) -> Cells | None:
    """A figures.Heat as cells, at most `rows` x `columns` of them, evenly chosen. Non-finite values have a colour of their own."""
    reach = picture.reach
    if reach is None:
        return None
    down, across = _evenly(len(picture.rows), rows), _evenly(len(picture.columns), columns)
    wide, high = (WIDTH - 10 - HEAT_LEFT) / len(across), (HEIGHT - BOTTOM - TOP) / len(down)
    made = []
    for r, row in enumerate(down):
        for c, column in enumerate(across):
            value = picture.cells[row][column]
            if value is None:
                continue
            good = bool(finite([value]))
            colour = "bad" if not good else 0 if picture.log and value <= 0 else round(8 * level(value, reach, picture.log))
            made.append((round(HEAT_LEFT + c * wide, 1), round(TOP + r * high, 1), round(wide + 0.3, 1), round(high + 0.3, 1), colour))
    named = _evenly(len(down), 8)
    return Cells(tuple(made), tuple((round(TOP + (r + 0.5) * high + 4, 1), picture.rows[down[r]]) for r in named),
                 ((HEAT_LEFT, str(picture.columns[0])), (WIDTH - 10, str(picture.columns[-1]))), tuple(map(words.number, reach)))


def _evenly(count: int, most: int) -> list[int]:
    return list(range(count)) if count <= most else sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})


def spark(values, width: int = 90, height: int = 22) -> tuple[str, ...]:
    """`points` of a curve without axes, cut where values are not finite; log scale where that shows more."""
    scale = math.log10 if use_log(values) else float
    drawn = [scale(v) for v in finite(values)]
    if not drawn:
        return ()
    low, high = roomy(drawn, log=scale is math.log10)
    pieces, piece = [], []
    for at, value in enumerate([*values, math.nan]):
        if finite([value]):
            x, y = 2 + at / max(1, len(values) - 1) * (width - 4), 2 + (high - scale(value)) / (high - low) * (height - 4)
            piece.append(f"{x:.1f},{y:.1f}")
        elif piece:
            pieces.append(" ".join(piece if len(piece) > 1 else piece * 2))
            piece = []
    return tuple(pieces)


def roomy(numbers: list[float], *, log: bool) -> tuple[float, float]:
    """The range of an axis: at least a tenth of its level high, so that the noise of a flat curve looks flat."""
    low, high = min(numbers), max(numbers)
    least = 0.04 if log else 0.1 * max(abs(low), abs(high))
    if high - low < least:
        low, high = (low + high - least) / 2, (low + high + least) / 2
    return _span([low, high])


def _span(numbers: list[float]) -> tuple[float, float]:
    low, high = min(numbers), max(numbers)
    if high - low <= 1e-9 * max(1e-30, abs(high)):
        room = 0.5 * abs(high) or 1.0
        return low - room, high + room
    return low, high
