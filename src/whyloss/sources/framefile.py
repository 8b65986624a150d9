"""A ledger file of packed frames, read: also while it is written, also after a kill -9. Needs no torch.

One SQLite file for each process. `slot` names the columns; `frame` holds one float32 vector for each sampled step, shorter
than the slots where columns were added later; `extreme` holds, for each column, what thinning may not lose; `event` holds
alerts and facts. A `part` is a stretch over which the steps go forward: a run that was resumed, or that went back to a
checkpoint, begins a new one.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from whyloss.evidence import Evidence
from whyloss.observation import Run

VERSION = 1
OBSERVATIONS = """
CREATE TABLE IF NOT EXISTS observation (run TEXT, quantity TEXT, subject TEXT, step INTEGER, value TEXT);
CREATE TABLE IF NOT EXISTS latest (run TEXT, quantity TEXT, subject TEXT, step INTEGER, value TEXT);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
"""
TABLES = OBSERVATIONS + """
CREATE TABLE IF NOT EXISTS slot (at INTEGER PRIMARY KEY, quantity TEXT, subject TEXT);
CREATE TABLE IF NOT EXISTS part (id INTEGER PRIMARY KEY, run TEXT, first INTEGER, began REAL, wrote REAL, closed INTEGER, writer TEXT);
CREATE TABLE IF NOT EXISTS frame (id INTEGER PRIMARY KEY, part INTEGER, step INTEGER, seconds REAL, numbers BLOB);
CREATE INDEX IF NOT EXISTS frame_step ON frame (step);
CREATE TABLE IF NOT EXISTS extreme (part INTEGER, chunk INTEGER, numbers BLOB, PRIMARY KEY (part, chunk));
CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, part INTEGER, step INTEGER, kind TEXT, unix REAL, data TEXT);
"""
# "Not measured in this frame" is a NaN that no arithmetic makes, so that a NaN of the training stays a NaN of the training.
_ABSENT_BITS = np.uint32(0x7FC0DEAD)
ABSENT = np.array([_ABSENT_BITS], np.uint32).view(np.float32)[0]
EXTREME = np.dtype([("low", "<f4"), ("high", "<f4"), ("bad", "<f4"), ("low_step", "<i8"), ("high_step", "<i8"), ("bad_step", "<i8")])
CHUNK = 512          # columns in one row of `extreme`


def blank(columns: int, rows: int | None = None) -> np.ndarray:
    """A frame in which nothing was measured yet. -> (columns,) or (rows, columns) float32"""
    return np.full(columns if rows is None else (rows, columns), _ABSENT_BITS, np.uint32).view(np.float32)


def is_absent(values: np.ndarray) -> np.ndarray:
    """Where nothing was measured. values: float32, any shape."""
    return np.ascontiguousarray(values, np.float32).view(np.uint32) == _ABSENT_BITS


@dataclass
class Part:
    """A stretch over which the steps go forward. first: its first step; closed: its ledger was closed in order."""

    id: int
    run: str
    first: int | None
    began: float
    wrote: float
    closed: bool
    writer: dict


@dataclass
class Frames:
    """Packed frames. columns: (quantity, subject); values: (frames, columns) float32, ABSENT where not measured."""

    columns: list[tuple[str, str]]
    ids: np.ndarray
    parts: np.ndarray
    steps: np.ndarray
    seconds: np.ndarray
    values: np.ndarray
    known: dict[int, Part] = field(default_factory=dict)
    stored: int = 0          # frames in the file, of which these may be a choice

    def __len__(self) -> int:
        return len(self.steps)

    def ends(self) -> dict[int, int | None]:
        """Part -> the first of its steps that a later part took again; None where all of it counts."""
        found, least = {}, None
        for number in sorted(self.known, reverse=True):
            found[number] = least
            first = self.known[number].first
            if first is not None:
                least = first if least is None else min(least, first)
        return found

    def counts(self) -> np.ndarray:
        """Which frames belong to the run as it went on. -> (frames,) bool"""
        valid = np.ones(len(self), bool)
        for number, end in self.ends().items():
            if end is not None:
                valid &= ~((self.parts == number) & (self.steps >= end))
        return valid


@contextlib.contextmanager
def opened(file) -> Iterator[sqlite3.Connection]:
    """A connection for reading. Raises sqlite3.Error for what is no database, FileNotFoundError where nothing is."""
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    with contextlib.ExitStack() as stack:
        try:
            base = stack.enter_context(contextlib.closing(_connect(file)))
        except sqlite3.OperationalError:
            # A write-ahead log in a folder without write access: its index cannot be made there, and without it the newest
            # frames would be missed.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="whyloss-"))
            for end in ("", "-wal"):
                if os.path.exists(f"{file}{end}"):
                    shutil.copyfile(f"{file}{end}", os.path.join(folder, file.name + end))
            base = stack.enter_context(contextlib.closing(_connect(Path(folder, file.name), "rw")))
        yield base


def _connect(file: Path, mode: str = "ro") -> sqlite3.Connection:
    base = sqlite3.connect(f"{file.resolve().as_uri()}?mode={mode}", uri=True, timeout=5.0, isolation_level=None)
    try:
        base.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        base.close()
        raise
    base.text_factory = lambda data: data.decode("utf-8", "replace")
    return base


def tables(base) -> set[str]:
    return {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def holds_frames(file) -> bool:
    """Whether a file is a ledger of frames (perhaps without any yet)."""
    try:
        with opened(file) as base:
            return {"slot", "frame", "part"} <= tables(base)
    except (sqlite3.Error, OSError):
        return False


# ---------------------------------------------------------------------- frames
def load(file, *, most: int | None = None, quantities=None, since: int = 0, steps=None) -> Frames:
    """The frames of a file. most: so many, evenly chosen, the first and the last among them; quantities: only these columns.

    since: only frames written after the one of this id; steps: only these. Raises sqlite3.Error, OSError.
    """
    with opened(file) as base:
        return frames_in(base, most=most, quantities=quantities, since=since, steps=steps)


def steps_of(file) -> np.ndarray:
    """The steps that a file holds frames of, each once, rising. Reads an index only."""
    with opened(file) as base:
        found = base.execute("SELECT DISTINCT step FROM frame ORDER BY step").fetchall() if "frame" in tables(base) else []
    return np.array([step for (step,) in found], np.int64)


def frames_in(base, *, most=None, quantities=None, since=0, steps=None) -> Frames:
    if "frame" not in tables(base):
        return _empty()
    base.execute("BEGIN")  # one state of the file for all questions below
    try:
        slots = base.execute("SELECT at, quantity, subject FROM slot ORDER BY at").fetchall()
        chosen = [(at, (q, s)) for at, q, s in slots if quantities is None or q in quantities]
        known = {p.id: p for p in _parts(base)}
        ids = sorted(base.execute("SELECT id, step FROM frame WHERE id > ?", (since,)))
        stored = len(ids)
        wanted = None if steps is None else set(int(step) for step in steps)
        ids = [number for number, step in ids if wanted is None or step in wanted]
        if most is not None and len(ids) > most:
            ids = [ids[i] for i in np.unique(np.linspace(0, len(ids) - 1, max(2, most)).round().astype(int))]
        width = slots[-1][0] + 1 if slots else 0
        places = np.array([at for at, _ in chosen], int)
        values, told = blank(len(chosen), len(ids)), []
        row = 0
        for number, part, step, seconds, numbers in _rows(base, ids, since, stored):
            held = np.frombuffer(numbers, "<f4")[:width]
            there = places < len(held)
            values[row, there] = held[places[there]]
            told.append((number, part, step, seconds))
            row += 1
    finally:
        base.execute("COMMIT")
    columns = list(zip(*told)) or [(), (), (), ()]
    return Frames([key for _, key in chosen], np.array(columns[0], np.int64), np.array(columns[1], np.int64), np.array(columns[2], np.int64),
                  np.array(columns[3], float), values[:row], known, stored)


def _empty() -> Frames:
    whole = np.zeros(0, np.int64)
    return Frames([], whole, whole, whole, np.zeros(0), blank(0, 0))


def _rows(base, ids: list[int], since: int, stored: int):
    if len(ids) == stored:
        yield from base.execute("SELECT id, part, step, seconds, numbers FROM frame WHERE id > ? ORDER BY id", (since,))
        return
    for number in ids:
        yield from base.execute("SELECT id, part, step, seconds, numbers FROM frame WHERE id = ?", (number,))


def _parts(base) -> list[Part]:
    return [Part(number, run, first, began or 0.0, wrote or 0.0, bool(closed), json.loads(writer or "{}")) for number, run, first, began, wrote,
            closed, writer in base.execute("SELECT id, run, first, began, wrote, closed, writer FROM part ORDER BY id")]


def parts_of(file) -> list[Part]:
    """The stretches of a run, in the order written."""
    with opened(file) as base:
        return _parts(base) if "part" in tables(base) else []


def last_frame(file) -> tuple[int, float, dict[tuple[str, str], float]] | None:
    """(step, seconds, (quantity, subject) -> value) of the newest frame, or None. Reads one row."""
    with opened(file) as base:
        if "frame" not in tables(base):
            return None
        newest = base.execute("SELECT id FROM frame ORDER BY id DESC LIMIT 1").fetchone()
        if newest is None:
            return None
        frames = frames_in(base, since=newest[0] - 1)
    there = ~is_absent(frames.values[-1])
    return (int(frames.steps[-1]), float(frames.seconds[-1]),
            {key: float(value) for key, value, seen in zip(frames.columns, frames.values[-1], there) if seen})


class FrameReader:
    """Reads what was added since it last looked."""

    def __init__(self, file):
        self.file = Path(file)
        self._frame = self._event = 0

    def new(self, quantities=None) -> Frames:
        """The frames written since the last call."""
        found = load(self.file, since=self._frame, quantities=quantities)
        if len(found):
            self._frame = int(found.ids[-1])
        return found

    def events(self) -> list[dict]:
        """The events written since the last call: step, kind, unix, data."""
        with opened(self.file) as base:
            found = events_in(base, self._event)
        self._event = found[-1]["id"] if found else self._event
        return found


def events_in(base, since: int = 0) -> list[dict]:
    if "event" not in tables(base):
        return []
    return [{"id": number, "part": part, "step": step, "kind": kind, "unix": unix, "data": _json(data)} for number, part, step, kind, unix, data in
            base.execute("SELECT id, part, step, kind, unix, data FROM event WHERE id > ? ORDER BY id", (since,))]


def events_of(file) -> list[dict]:
    """Everything that was told of a run: step, kind, unix (seconds since 1970), data."""
    with opened(file) as base:
        return events_in(base)


def _json(text):
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}


# ---------------------------------------------------------------------- as evidence
def read_frames(file, *, most: int | None = None, quantities=None) -> Evidence:
    """The evidence of a ledger file: frames, the extremes that thinning kept of the others, facts and events.

    What a later part took again belongs to runs of its own, "main/before-1" and so on. Raises sqlite3.Error, OSError.
    """
    evidence = Evidence()
    with opened(file) as base:
        there = tables(base)
        for table in ("observation", "latest"):
            if table in there:
                for run, quantity, subject, step, value in base.execute(f"SELECT run, quantity, subject, step, value FROM {table} ORDER BY rowid"):
                    evidence.add(quantity, json.loads(value), subject=subject, step=step, run=run)
        frames = frames_in(base, most=most, quantities=quantities)
        into(evidence, frames, extremes_in(base, quantities) if "extreme" in there else {})
        for event in events_in(base):
            known = frames.known.get(event["part"])
            subject = event["data"].get("subject") if isinstance(event["data"], dict) else None
            evidence.add(event["kind"], event["data"], subject=subject if isinstance(subject, str) and subject else "run", step=event["step"] or 0,
                         run=known.run if known else "main")
    for run in list(evidence.runs):
        evidence.add_run(Run(run, "watched"))
    if not evidence.runs:
        evidence.add_run(Run("main", "watched"))
    return evidence


def into(evidence: Evidence, frames: Frames, extremes: dict | None = None) -> None:
    """Add frames, and the extremes of those that are gone, column by column and by step."""
    for run, (quantity, subject), steps, values in series(frames, extremes):
        evidence.add(quantity, float(values[0]), subject=subject, step=int(steps[0]), run=run)
        column = evidence.series(quantity, subject, run)
        column.steps.extend(steps[1:].tolist())
        column.values.extend(values[1:].tolist())


def series(frames: Frames, extremes: dict | None = None) -> Iterator[tuple[str, tuple[str, str], np.ndarray, np.ndarray]]:
    """(run, column, steps, values) of each column of each part. What was taken again later belongs to a run "main/before-1"."""
    ends, there = frames.ends(), ~is_absent(frames.values)
    for number, part in frames.known.items():
        rows = np.flatnonzero(frames.parts == number)
        for at, key in enumerate(frames.columns):
            seen = rows[there[rows, at]]
            steps, values = frames.steps[seen], frames.values[seen, at]
            gone = (extremes or {}).get((number, key))
            if gone:
                steps, values = _together(steps, values, gone)
            end = ends[number]
            kept = np.ones(len(steps), bool) if end is None else steps < end
            for run, chosen in ((part.run, kept), (f"{part.run}/before-{number}", ~kept)):
                if chosen.any():
                    yield run, key, steps[chosen], values[chosen]


def _together(steps, values, gone):
    """Kept points and extremes in one order, each step of the extremes once."""
    held = set(steps.tolist())
    more = {step: value for step, value in gone if step not in held}
    steps = np.concatenate([steps, np.array(list(more), np.int64)])
    order = np.argsort(steps, kind="stable")
    return steps[order], np.concatenate([values, np.array(list(more.values()), np.float32)])[order]


def extremes_in(base, quantities=None) -> dict[tuple, list[tuple[int, float]]]:
    """(part, column) -> points of frames that are gone: the lowest, the highest and the first that was not finite."""
    slots = {at: (q, s) for at, q, s in base.execute("SELECT at, quantity, subject FROM slot") if quantities is None or q in quantities}
    found: dict[tuple, list] = {}
    for part, chunk, numbers in base.execute("SELECT part, chunk, numbers FROM extreme"):
        for at, row in enumerate(np.frombuffer(numbers, EXTREME)):
            key = slots.get(chunk * CHUNK + at)
            points = {int(row[f"{which}_step"]): float(row[which]) for which in ("low", "high", "bad") if row[f"{which}_step"] >= 0}
            if key is not None and points:
                found[(part, key)] = sorted(points.items())
    return found
