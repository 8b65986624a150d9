"""One run, followed: reads what its ledgers hold more than before, and keeps what the page shows of it."""

import json
import math
import os
import time
from collections import deque
from pathlib import Path
from statistics import median

import numpy as np

from whyloss.live.condition import Condition, condition, together
from whyloss.live.course import Course, Rows
from whyloss.report import Curve, Grid
from whyloss.sources import framefile
from whyloss.sources.merging import ledgers, merge

CURVES = ("loss", "val_loss", "learning_rate")
LAYERS = ("grad_norm", "activation_std", "dead_share", "saturated_share", "update_ratio", "weight_norm")
AGAIN = 2.0          # seconds until a ledger that could not be read is tried again
SHARE = 0.2          # of the time at most is spent reading one run
MEMORY = 8 * 2**20   # bytes for the common frames of several ranks
NEWEST = 32          # gaps between frames, of which the median is the usual one


class Run:
    """What is known of a run.

    courses  (quantity, subject) -> Course          problem  why its ledger cannot be read, or nothing
    step     of the newest frame                     version  rises with each change of what the page shows
    """

    def __init__(self, place):
        self.place = place
        self.version, self.problem, self.step = 0, place.problem, None
        self.courses: dict[tuple[str, str], Course] = {}
        self.looked = 0.0
        self._events: list[dict] = []
        self._next, self._stamp = 0.0, None

    # ------------------------------------------------------------------ what is read
    def due(self, now: float) -> bool:
        return now >= self._next

    def look(self) -> bool:
        """Read what is new. -> whether there was anything. Never raises for what a ledger holds."""
        began = self.looked = time.monotonic()
        stamp = _stamp(self.place.files)
        if stamp == self._stamp or self.place.problem:
            return False
        before = self.version, self.problem
        try:
            self._read()
            self.problem, self._stamp = "", stamp
        except Exception as error:  # whatever lies in a file, the other runs are shown
            self.problem = f"cannot be read: {(str(error).splitlines() or [type(error).__name__])[0][:300]}"
            self._stamp = None
        took = time.monotonic() - began
        self._next = began + max(AGAIN if self.problem else 0.0, took / SHARE)
        if self.problem != before[1]:
            self.version += 1
        return (self.version, self.problem) != before

    def _read(self) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------------ what is shown
    @property
    def condition(self) -> Condition:
        raise NotImplementedError

    @property
    def loss(self) -> Course:
        """The loss of the run, or of its first optimizer."""
        found = self.courses.get(("loss", "run"))
        return found if found else next((course for (q, _), course in self.courses.items() if q == "loss" and len(course)), Course())

    def told(self) -> list[dict]:
        """The events since the last call: step, kind, unix, data."""
        told, self._events = self._events, []
        return told

    def grids(self) -> tuple[Grid, ...]:
        """The numbers behind the pictures."""
        found = [self.loss.grid("loss")] if len(self.loss) else []
        val = self.courses.get(("val_loss", "run"))
        found += [val.grid("val_loss")] if val else []
        rates = [(subject, course) for (q, subject), course in self.courses.items() if q == "learning_rate" and len(course)]
        return (*found, *(course.grid("learning_rate", subject) for subject, course in rates[:6]), *self._by_layer())

    def others(self) -> tuple[Curve, ...]:
        """Losses of further optimizers."""
        return tuple(Curve(f"loss of {subject}", "loss", "a loss of its own", steps=tuple(course.steps), values=tuple(course.values))
                     for (q, subject), course in self.courses.items() if q == "loss" and len(course) and course is not self.loss)

    def _by_layer(self) -> list[Grid]:
        raise NotImplementedError

    def _course(self, quantity: str, subject: str) -> Course:
        return self.courses.setdefault((quantity, str(subject)), Course())


class OneFile(Run):
    """A run of one process. Only what was added to its ledger is read."""

    def __init__(self, place):
        super().__init__(place)
        self._parts: list = []
        self._clear()

    def _clear(self) -> None:
        self.courses.clear()
        self.step, self.rows = None, Rows()
        self._frame = self._event = self._fact = 0
        self._known: set[int] = set()         # parts whose beginning has been taken into account
        self._seconds: deque[float] = deque(maxlen=NEWEST)
        self._file = None

    @property
    def condition(self) -> Condition:
        gaps = np.diff(self._seconds)
        return condition(self._parts, float(median(gaps)) if len(gaps) else 0.0)

    def _by_layer(self) -> list[Grid]:
        return self.rows.grids(LAYERS)

    def _read(self) -> None:
        file = self.place.files[0]
        if not os.stat(file).st_size and not os.path.exists(f"{file}-wal"):
            return  # made a moment ago
        with framefile.opened(file) as base:
            there = framefile.tables(base)
            if not {"slot", "frame", "part"} <= there:
                if there and not there & {"observation", "meta"}:
                    raise ValueError("no ledger of a watched run")
                return
            self._in(base, there, os.stat(file).st_ino)

    def _in(self, base, there: set[str], inode: int) -> None:
        newest = base.execute("SELECT coalesce(max(id), 0) FROM frame").fetchone()[0]
        if self._file not in (None, inode) or newest < self._frame:  # another run in the same place
            self._clear()
        self._file = inode
        frames = framefile.frames_in(base, since=self._frame, quantities={*CURVES, *LAYERS}) if self._frame else None
        if frames is None or self._goes_back(frames):
            told = self._event  # what was told stays told
            self._clear()
            self._file, self._event = inode, told
            frames = self._begin(base, there)
        else:
            self._add(frames)
        self._known |= {part.id for part in frames.known.values() if part.first is not None}
        changed = len(frames) > 0 or [(p.id, p.closed) for p in self._parts] != [(p.id, p.closed) for p in frames.known.values()]
        self._parts = list(frames.known.values())
        events = framefile.events_in(base, self._event) if "event" in there else []
        self._event = events[-1]["id"] if events else self._event
        self._events += events
        facts = self._facts(base, there)
        self.version += bool(changed or events or facts)

    def _goes_back(self, frames) -> bool:
        """Whether steps that were shown are taken again."""
        return self.step is not None and any(part.first is not None and number not in self._known and part.first <= self.step
                                             for number, part in frames.known.items())

    def _begin(self, base, there: set[str]):
        """Everything the file holds: all of the curves, evenly chosen frames of the layers."""
        frames = framefile.frames_in(base, quantities=set(CURVES))
        extremes = framefile.extremes_in(base, set(CURVES)) if "extreme" in there else {}
        for run, (quantity, subject), steps, values in framefile.series(frames, extremes):
            if "/before-" not in run:
                self._course(quantity, subject).add(steps, values)
        if len(frames):
            counts = frames.counts()
            self._frame, self.step = int(frames.ids[-1]), int(frames.steps[counts][-1]) if counts.any() else None
            self._seconds.extend(frames.seconds[frames.parts == frames.parts[-1]][-NEWEST:].tolist())
            layers = framefile.frames_in(base, quantities=set(LAYERS), most=self.rows.room)
            mine = layers.counts() & (layers.ids <= self._frame)
            self.rows.begin(layers.columns, layers.steps[mine], layers.values[mine], len(frames))
        return frames

    def _add(self, frames) -> None:
        if not len(frames):
            return
        seen = ~framefile.is_absent(frames.values)
        layers = []
        for at, (quantity, subject) in enumerate(frames.columns):
            if quantity in LAYERS:
                layers.append(at)
            elif seen[:, at].any():
                self._course(quantity, subject).add(frames.steps[seen[:, at]], frames.values[seen[:, at], at])
        self.rows.add([frames.columns[at] for at in layers], frames.steps, frames.values[:, layers])
        self._frame, self.step = int(frames.ids[-1]), int(frames.steps[-1])
        self._seconds.extend(frames.seconds[-NEWEST:].tolist())

    def _facts(self, base, there: set[str]) -> bool:
        """Validation losses that were told beside the frames. -> whether there are new ones"""
        if "observation" not in there:
            return False
        rows = base.execute("SELECT rowid, step, value FROM observation WHERE rowid > ? AND quantity = 'val_loss' AND subject = 'run' "
                            "ORDER BY rowid", (self._fact,)).fetchall()
        if rows:
            self._fact = rows[-1][0]
            self._course("val_loss", "run").add([step for _, step, _ in rows], [_number(value) for _, _, value in rows])
        return bool(rows)


class Ranks(Run):
    """A run of several processes: their ledgers are merged anew at each change, as often as the time allows."""

    def __init__(self, place):
        super().__init__(place)
        self._conditions: dict[int, list] = {}
        self._grids: list[Grid] = []
        self._said: set[tuple] = set()

    @property
    def condition(self) -> Condition:
        return together({rank: condition(parts) for rank, parts in self._conditions.items()}) if self._conditions else condition([])

    def _by_layer(self) -> list[Grid]:
        return self._grids

    def _read(self) -> None:
        folder = Path(self.place.files[0]).parent
        self._conditions = {rank: framefile.parts_of(file) for rank, file in ledgers(folder).items()}
        evidence = merge(folder, memory=MEMORY)
        self.courses, self._grids, steps = {}, [], []
        for quantity in CURVES:
            for subject, column in evidence.by_subject(quantity).items():
                self._course(quantity, subject).add(column.steps, column.array())
                steps += column.steps[-1:]
        for quantity in LAYERS:
            rows = Rows()
            columns = {s: c for s, c in evidence.by_subject(quantity).items() if s != "run"}
            known = sorted({step for column in columns.values() for step in column.steps})
            place = {step: at for at, step in enumerate(known)}
            table = framefile.blank(len(columns), len(known))
            for at, column in enumerate(columns.values()):
                table[[place[step] for step in column.steps], at] = column.array()
            rows.begin([(quantity, subject) for subject in columns], known, table, len(known))
            self._grids += rows.grids((quantity,))
        self.step = max(steps, default=None)
        for (_, kind, _), column in evidence.columns():
            for seen in column:
                key = kind, seen.step, str(seen.value)[:200]
                if isinstance(seen.value, dict) and "ranks" in seen.value and not kind.startswith("ranks") and key not in self._said:
                    self._said.add(key)
                    self._events.append({"step": seen.step, "kind": kind, "unix": None, "data": seen.value})
        self.version += 1


def follow(place) -> Run:
    """What follows the run at a place."""
    return Ranks(place) if len(place.files) > 1 else OneFile(place)


def _number(text: str) -> float:
    try:
        return float(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return math.nan


def _stamp(files) -> tuple:
    """Sizes and times: the same as before means that nothing was written."""
    found = []
    for file in files:
        for name in (str(file), f"{file}-wal"):
            try:
                told = os.stat(name)
                found.append((told.st_ino, told.st_size, told.st_mtime_ns))
            except OSError:
                found.append(None)
    return tuple(found)
