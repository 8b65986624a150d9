"""Numbers over the steps in little room: of a long curve the spikes stay, of many frames evenly chosen ones."""

from array import array

import numpy as np

from whyloss.report import Grid
from whyloss.sources.framefile import ABSENT, is_absent

POINTS = 600         # of a curve after thinning; twice as many before the next
FRAMES = 60          # of the quantities by layer
NUMBERS = 600_000    # of all quantities by layer, in all frames held
CELLS = 24_000       # of one quantity, in one picture
SUBJECTS = 2000
FEW = 6              # frames at least


class Course:
    """One number over rising steps; the lowest, the highest and the first non-finite one of each stretch survive thinning."""

    def __init__(self) -> None:
        self._steps, self._values = array("q"), array("d")

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, steps, values) -> None:
        """Further points; of a step that is taken again, the later one counts. steps, values: (points,)"""
        self._steps.extend(np.asarray(steps, np.int64).tolist())
        self._values.extend(np.asarray(values, float).tolist())
        known = np.array(self._steps)
        if (np.diff(known[-len(steps) - 1:]) <= 0).any():
            ahead = np.append(np.minimum.accumulate(known[::-1])[::-1][1:], known[-1] + 1)
            self._choose(np.flatnonzero(known < ahead))
        if len(self) > 2 * POINTS:
            self._thin()

    def _thin(self) -> None:
        values, kept = np.array(self._values), {0, len(self) - 1}
        for part in np.array_split(np.arange(len(values)), POINTS // 2):
            good, bad = part[np.isfinite(values[part])], part[~np.isfinite(values[part])]
            kept |= {int(at) for at in bad[:1]} | ({int(good[values[good].argmin()]), int(good[values[good].argmax()])} if len(good) else set())
        self._choose(np.array(sorted(kept)))

    def _choose(self, places: np.ndarray) -> None:
        self._steps = array("q", np.array(self._steps)[places].tobytes())
        self._values = array("d", np.array(self._values)[places].tobytes())

    @property
    def steps(self) -> list[int]:
        return self._steps.tolist()

    @property
    def values(self) -> list[float]:
        return self._values.tolist()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The first and the last value."""
        return (self._values[0], self._values[-1]) if len(self) else None

    def grid(self, quantity: str, subject: str = "run") -> Grid:
        return Grid(quantity, (subject,), tuple(self.steps), (tuple(self.values),), seen=(len(self), 1))


class Rows:
    """Frames of the quantities by layer: every so many of those that came, and the newest."""

    def __init__(self) -> None:
        self.columns: list[tuple[str, str]] = []
        self._kept: list[tuple[int, np.ndarray]] = []
        self._newest: tuple[int, np.ndarray] | None = None
        self._stride, self._arrived = 1, 0

    @property
    def room(self) -> int:
        """Frames that are held at most."""
        return max(FEW, min(FRAMES, NUMBERS // max(1, len(self.columns))))

    def begin(self, columns, steps, values, stored: int) -> None:
        """Evenly chosen frames of `stored` ones. columns: (quantity, subject); values: (frames, columns) float32"""
        self.columns = [(str(quantity), str(subject)) for quantity, subject in columns]
        self._kept = [(int(step), row.copy()) for step, row in zip(steps, values)]
        self._newest = self._kept[-1] if self._kept else None
        self._stride, self._arrived = max(1, stored // max(1, len(self._kept))), 0
        self._thin()

    def add(self, columns, steps, values) -> None:
        """Further frames. columns: as before, and perhaps more of them at the end"""
        self.columns = [(str(quantity), str(subject)) for quantity, subject in columns]
        for step, row in zip(steps, values):
            self._newest = int(step), row.copy()
            if self._arrived % self._stride == 0:
                self._kept.append(self._newest)
            self._arrived += 1
        self._thin()

    def _thin(self) -> None:
        while len(self._kept) > self.room:
            self._kept = self._kept[::2]
            self._stride *= 2

    def grids(self, quantities) -> list[Grid]:
        """One table a quantity: its subjects in the order of the columns, at the steps where any of them was seen."""
        frames = [*self._kept, *([self._newest] if self._newest and self._newest is not self._kept[-1] else [])]
        if not frames:
            return []
        table = np.full((len(frames), len(self.columns)), ABSENT, np.float32)
        for at, (_, row) in enumerate(frames):
            table[at, :len(row)] = row
        steps, found = [step for step, _ in frames], []
        for quantity in quantities:
            places = [at for at, (q, s) in enumerate(self.columns) if q == quantity and s != "run" and not s.startswith("optimizer ")]
            grid = _grid(quantity, [self.columns[at][1] for at in places], steps, table[:, places])
            found += [grid] if grid else []
        return found


def _grid(quantity: str, subjects: list[str], steps: list[int], table: np.ndarray) -> Grid | None:
    """table: (frames, subjects) float32, ABSENT where not seen"""
    there = ~is_absent(table)
    seen, ever = np.flatnonzero(there.any(1)), np.flatnonzero(there.any(0))
    if not len(ever):
        return None
    rows = ever[_spread(len(ever), SUBJECTS)]
    columns = seen[_spread(len(seen), max(FEW, min(FRAMES, CELLS // len(rows))))]
    values = table[np.ix_(columns, rows)].astype(object)
    values[~there[np.ix_(columns, rows)]] = None
    return Grid(quantity, tuple(subjects[at] for at in rows), tuple(steps[at] for at in columns), tuple(map(tuple, values.T.tolist())),
                seen=(len(seen), len(ever)))


def _spread(count: int, most: int) -> np.ndarray:
    """At most so many places of `count`, evenly chosen, the first and the last among them."""
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).round().astype(int))
