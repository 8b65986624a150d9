"""Which frames stay when a ledger has grown to its limit, and what is kept of those that go.

Steps are cut into aligned blocks of a power of two; of each block the first frame stays, and the one with the highest loss,
so that a spike of one step survives. Blocks of the next size are pairs of these, so a frame that stays at a coarse size stayed
at every finer one: the frames stay evenly spread however often a long run is thinned. The newest frames, the first of each
part and those around events stay as they are.
"""

from array import array

import numpy as np

from whyloss.sources.framefile import CHUNK, EXTREME, is_absent

NEAR = 16            # frames on either side of an event
EVENTS_SHARE = 0.25  # of the frames that stay, at most, for the surroundings of events
TAIL_SHARE = 0.125   # and for the newest
FIRSTS = 64          # parts whose first frame is kept


def staying(steps: np.ndarray, parts: np.ndarray, lead: np.ndarray, events: np.ndarray, most: int) -> np.ndarray:
    """Which of the frames stay, about `most` of them. All (frames,), in the order written; events: steps. -> bool

    lead  the loss, float32; ABSENT, or -inf, where it was not measured
    """
    count = len(steps)
    if count <= most:
        return np.ones(count, bool)
    lead = np.where(np.isnan(lead), np.where(is_absent(lead), -np.inf, np.inf), lead)  # what is not finite is the highest of its block
    kept = np.zeros(count, bool)
    starts = np.flatnonzero(np.diff(parts, prepend=parts[0] - 1))
    kept[starts[:FIRSTS]] = True
    kept[-max(1, int(TAIL_SHARE * most)):] = True
    finite = lead[np.isfinite(lead)]
    if finite.size:
        kept[[int(np.flatnonzero(lead == finite.min())[0]), int(np.flatnonzero(lead == finite.max())[0])]] = True
    around(kept, steps, events, max(1, int(EVENTS_SHARE * most)))
    left = max(2, most - int(kept.sum()))
    held = int(kept.sum())
    # the last bit that differs tells at which sizes two neighbours lie in different blocks
    borders = np.where(np.diff(parts) != 0, 64, np.frexp((steps[1:] ^ steps[:-1]).astype(np.float64))[1])
    level = int(np.argmax(np.cumsum(np.bincount(borders, minlength=65)[::-1])[::-1][1:] - held < left))  # not too many blocks
    chosen = _of_blocks(borders, lead, level)
    while level < 63 and np.count_nonzero(chosen & ~kept) > left:  # the smallest blocks of which few enough frames stay
        level += 1
        chosen = _of_blocks(borders, lead, level)
    return kept | chosen


def _of_blocks(borders, lead, level: int) -> np.ndarray:
    """Of each block of 2^level steps the first frame and the one with the highest lead. borders: between neighbours. -> bool"""
    chosen = np.ones(len(lead), bool)
    np.greater(borders, level, out=chosen[1:])
    of = np.cumsum(chosen) - 1
    tops = np.flatnonzero(lead == np.maximum.reduceat(lead, np.flatnonzero(chosen))[of])
    of = of[tops]
    chosen[tops[:1]] = True
    chosen[tops[1:][of[1:] != of[:-1]]] = True
    return chosen


def around(kept: np.ndarray, steps: np.ndarray, events: np.ndarray, room: int) -> None:
    """Mark the frames near events; where they are too many, fewer around each, then the first and the last events only."""
    if not len(events):
        return
    order = np.argsort(steps, kind="stable")
    places = np.clip(np.searchsorted(steps[order], np.unique(events)), 0, len(steps) - 1)
    reach = NEAR
    while True:
        marks = np.zeros(len(steps) + 1, np.int64)
        np.add.at(marks, np.maximum(0, places - reach), 1)
        np.add.at(marks, np.minimum(len(steps), places + reach + 1), -1)
        near = np.cumsum(marks[:-1]) > 0
        if near.sum() <= room or reach == 0:
            break
        reach //= 2
    if near.sum() > room:
        held = np.flatnonzero(near)
        near[held[room // 2: len(held) - (room - room // 2)]] = False
    kept[order[near]] = True


class Index:
    """Which frames a file holds: id, part, step and loss of each, 28 bytes a frame."""

    def __init__(self) -> None:
        self._ids, self._parts, self._steps, self._lead = array("q"), array("q"), array("q"), array("f")

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, number: int, part: int, step: int, lead: float) -> None:
        self._ids.append(number)
        self._parts.append(part)
        self._steps.append(step)
        self._lead.append(lead)

    def thin(self, events, most: int) -> list[int]:
        """The ids of the frames that go; they are forgotten here."""
        columns = [np.array(column) for column in (self._ids, self._parts, self._steps, self._lead)]
        kept = staying(columns[2], columns[1], columns[3], np.asarray(events, np.int64), most)
        self._ids, self._parts, self._steps, self._lead = (array(code, column[kept].tobytes()) for code, column in zip("qqqf", columns))
        return columns[0][~kept].tolist()


class Extremes:
    """For each part and column the lowest, the highest and the first non-finite value of the frames that are gone."""

    def __init__(self) -> None:
        self._held: dict[int, np.ndarray] = {}

    def take(self, base, part: int, steps: np.ndarray, values: np.ndarray) -> None:
        """Frames of one part that are about to be deleted. steps: (m,); values: (m, columns)"""
        held = self._of(base, part, values.shape[1])
        before = held.copy()
        finite = np.isfinite(values)
        across = np.arange(values.shape[1])
        mine = held[:values.shape[1]]
        for name, filler, pick in (("low", np.inf, np.argmin), ("high", -np.inf, np.argmax)):
            filled = np.where(finite, values, np.float32(filler))
            at = pick(filled, 0)
            best = filled[at, across]
            better = (best < mine["low"]) if name == "low" else (best > mine["high"])
            mine[name][better], mine[f"{name}_step"][better] = best[better], steps[at][better]
        bad = ~finite & ~is_absent(values)
        first = bad.argmax(0)
        newer = bad.any(0) & ((mine["bad_step"] < 0) | (steps[first] < mine["bad_step"]))
        mine["bad"][newer], mine["bad_step"][newer] = values[first, across][newer], steps[first][newer]
        for chunk in range(0, len(held), CHUNK):
            if held[chunk:chunk + CHUNK].tobytes() != before[chunk:chunk + CHUNK].tobytes():
                base.execute("INSERT OR REPLACE INTO extreme VALUES (?, ?, ?)", (part, chunk // CHUNK, held[chunk:chunk + CHUNK].tobytes()))

    def _of(self, base, part: int, columns: int) -> np.ndarray:
        held = self._held.get(part)
        if held is None:
            rows = base.execute("SELECT chunk, numbers FROM extreme WHERE part = ?", (part,)).fetchall()
            held = _none(max((chunk + 1 for chunk, _ in rows), default=0))
            for chunk, numbers in rows:
                held[chunk * CHUNK:(chunk + 1) * CHUNK] = np.frombuffer(numbers, EXTREME)
        if columns > len(held):
            held = np.concatenate([held, _none(-(-(columns - len(held)) // CHUNK))])
        self._held = {part: held}  # only of the part at hand: a resumed run may have many
        return held

    def forget(self) -> None:
        """What was taken did not reach the file."""
        self._held = {}


def _none(chunks: int) -> np.ndarray:
    rows = np.zeros(chunks * CHUNK, EXTREME)
    rows["low"], rows["high"] = np.inf, -np.inf
    rows["low_step"] = rows["high_step"] = rows["bad_step"] = -1
    return rows
