"""Curves as points of an SVG drawing. Numbers only: texts are put in by the template, which escapes them."""

import math
from dataclasses import dataclass

from whyloss.render import words
from whyloss.render.chart import finite, use_log

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 72, 130, 12, 24


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

    def x(self, at: float) -> float:
        """Where a place on the x axis is drawn; places outside are moved to its ends."""
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


def chart(curves: dict[str, tuple], *, first_colour: int = 0) -> Chart | None:
    """{label: (xs, ys)} -> a drawing; None if there is not a single finite point."""
    curves = {label: extremes(xs, ys) for label, (xs, ys) in curves.items()}
    every = [p for points in curves.values() for p in points if len(finite(p)) == 2]
    if not every:
        return None
    log = use_log([y for points in curves.values() for _, y in points])
    scale = math.log10 if log else float
    x0, x1 = _span([x for x, _ in every])
    y0, y1 = roomy([scale(y) for _, y in every], log=log)
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def at(x, y):
        return (round(LEFT + (x - x0) / (x1 - x0) * (right - LEFT), 1),
                round(bottom - (scale(y) - y0) / (y1 - y0) * (bottom - TOP), 1))

    drawn, taken, gaps = [], [], 0
    for colour, (label, points) in enumerate(curves.items()):
        pieces, piece = [], []
        for point in [*points, (0, math.nan)]:
            if len(finite(point)) == 2:
                piece.append(at(*point))
            elif piece:
                pieces.append(" ".join(f"{x},{y}" for x, y in (piece if len(piece) > 1 else piece * 2)))
                piece = []
        gaps += sum(len(finite(p)) < 2 for p in points)
        ends = [at(*p) for p in points if len(finite(p)) == 2]
        if ends:
            y = ends[-1][1]
            while any(abs(y - other) < 14 for other in taken):
                y += 14 if y + 14 < bottom else -14 * (len(taken) + 1)
            taken.append(y)
            drawn.append(Curve(label, tuple(pieces), right + 6, y + 4, (first_colour + colour) % 6))
    back = (lambda y: 10**y) if log else (lambda y: y)
    ticks = [y0, (y0 + y1) / 2, y1]
    return Chart(tuple(drawn), tuple((at(x0, back(t))[1], words.number(back(t))) for t in ticks),
                 ((LEFT, words.number(x0)), (right, words.number(x1))), log, gaps, span=(x0, x1))


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
