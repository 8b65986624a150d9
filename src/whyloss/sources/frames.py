"""Writes the ledger of a long training: one packed float32 frame a sampled step, from the training thread. Needs no torch.

Frames are gathered and written about once a second in one transaction, so that a kill at any moment loses no more than that;
the file never grows beyond its limit. Nothing here raises into the training: what goes wrong with the store switches the
ledger off and is told in `problem`.
"""

import contextlib
import json
import os
import socket
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np

from whyloss.sources.elsewhere import Mirror, is_remote
from whyloss.sources.framefile import ABSENT, TABLES, VERSION, blank, is_absent
from whyloss.sources.thinning import Extremes, Index

SIZE = 64 * 2**20         # bytes on disk at most, the write-ahead log included
FLUSH = 2**20             # bytes gathered at most
PATIENCE = 5.0            # seconds to wait for another program before the first frame
WAIT = 250                # milliseconds in a step; then the frames wait instead of the training
BUSY = 30.0               # seconds that another program may hold the file
MOST_FRAMES = 2**16
MOST_EVENTS = 10_000      # of more, the middle ones go
MOST_PARTS = 256          # a loop that goes back without end is marked so often only
LONGEST = 2**18           # characters of one event or fact
LEAST = 16                # frames that must find room
_BUSY = "locked", "busy"
DROPPED = 32              # frames deleted in one flush at least, while there are any to delete: no pause is long


def ledger_file(folder, rank: int = 0, world: int = 1) -> Path | str:
    """Where a process keeps its frames in a run's folder: one file a rank. An address stays an address."""
    name = "frames.db" if world < 2 else f"frames-rank-{rank:05d}.db"
    return f"{str(folder).rstrip('/')}/{name}" if is_remote(folder) else Path(str(folder).removeprefix("file://")) / name


class FrameLedger:
    """One process's frames, events and facts in one file, which a resumed run continues.

    size_limit  bytes on disk, at most        seconds  that a kill may cost, at most
    problem     why nothing is written any more, or None
    beside      why `file` lies in a folder of this process alone, or None
    """

    def __init__(self, file, *, run: str = "main", size_limit: int = SIZE, seconds: float = 1.0):
        self.mirror = Mirror(str(file)) if is_remote(file) else None
        self.file = self.mirror.local if self.mirror else Path(str(file).removeprefix("file://"))
        self.run, self.size_limit, self.seconds = run, size_limit, seconds
        self.problem: str | None = None
        self.beside: str | None = None
        self.held_back = 0                       # frames left out while another program kept the file from being cleaned up
        self._log_limit = min(4 * 2**20, max(size_limit // 16, 2**16))
        self._room = size_limit - 3 * self._log_limit - 2**16  # beside the log and its index, which take as much as the newest transactions
        self._process, self._me, self._claimed = os.getpid(), _me(), False
        self._lock = threading.RLock()           # an event may come from the thread that runs the backward pass
        self._base: sqlite3.Connection | None = None
        self._known: dict[tuple[str, str], int] = {}   # (quantity, subject) -> slot in the file
        self._declared: list[tuple[str, str]] = []
        self._slots: np.ndarray | None = None    # where the caller's columns go; None: as they come
        self._index, self._extremes, self._victims = Index(), Extremes(), []
        self._event_steps: list[int] = []
        self._events = self._facts = 0
        self._part, self._first, self._last = 0, None, None
        self._frames: list[tuple] = []           # gathered: (id, part, step, seconds, numbers), the loss beside it
        self._leads: list[float] = []
        self._rows: list[tuple] = []             # (statement, values) beside the frames
        self._bytes, self._oldest, self._newest, self._blocked = 0, 0.0, None, None
        self._lead = self._next = 0

    # ------------------------------------------------------------------ what is written
    def columns(self, columns) -> None:
        """Declare (quantity, subject) of the numbers in a frame, in their order. Further ones may be added later, at the end."""
        with self._at_work() as ready:
            if not ready:
                return
            new = [(str(q), str(s)) for q, s in columns]
            seen = set(self._declared)
            self._declared += [key for key in dict.fromkeys(new) if key not in seen]
            for key in self._declared:
                if key not in self._known:
                    self._known[key] = len(self._known)
                    self._rows.append(("INSERT OR REPLACE INTO slot VALUES (?, ?, ?)", (self._known[key], *key)))
            slots = np.array([self._known[key] for key in self._declared], np.int64)
            self._slots = None if (slots == np.arange(len(slots))).all() else slots
            self._lead = next((i for i, key in enumerate(self._declared) if key == ("loss", "run")),
                              next((i for i, (q, _) in enumerate(self._declared) if q == "loss"), 0))
            need = (4 * LEAST + 80) * len(self._known)  # so many frames, and the extremes twice
            if need > self._room:
                self._give_up(f"{len(self._known)} numbers a frame need a size limit of {-(-need * 5 // 4 // 2**20)} MiB, "
                              f"it is {self.size_limit // 2**20}")

    def frame(self, step: int, values, seconds: float = 0.0) -> None:
        """The numbers of one step. values: float32, in the order of the columns; ABSENT where not measured; seconds: since the start."""
        with self._at_work() as ready:
            if not ready:
                return
            values = np.ascontiguousarray(values, np.float32)
            lead = float(values[self._lead]) if self._lead < len(values) and not is_absent(values[self._lead:self._lead + 1])[0] else -np.inf
            if self._slots is not None:
                whole = blank(len(self._known))
                whole[self._slots[:len(values)]] = values
                values = whole
            self._goes_on(int(step))
            self._next += 1
            self._frames.append((self._next, self._part, int(step), float(seconds), values.tobytes()))
            self._leads.append(lead if np.isfinite(lead) or lead == -np.inf else np.inf)
            self._bytes += values.nbytes
            now = time.monotonic()
            self._oldest = self._oldest or now
            # the next frame comes about as late as this one did: is that too late?
            gap = self.seconds if self._newest is None else now - self._newest
            self._newest = now
            if now + gap - self._oldest >= 0.9 * self.seconds or self._bytes >= min(FLUSH, self._log_limit // 2):
                self._flush()

    def event(self, step: int, kind: str, data: dict) -> None:
        """An alert or a fact of the run, written at once. Frames around it are not thinned."""
        with self._at_work() as ready:
            if ready:
                self._tell(int(step), kind, data)
                self._flush()

    def observe(self, quantity: str, value, subject: str = "run", step: int = 0) -> None:
        """One observation beside the frames: a fact, or a fingerprint that merging compares. Written with the next frames."""
        with self._at_work() as ready:
            if ready:
                text = _text(value)
                self._facts += len(text)
                if self._facts < self._room // 4:
                    self._rows.append(("INSERT INTO observation VALUES (?, ?, ?, ?, ?)", (self.run, quantity, subject, int(step), text)))
                    self._oldest = self._oldest or time.monotonic()
                elif self._facts - len(text) < self._room // 4:
                    self._tell(int(step), "ledger", {"message": "facts beside the frames fill a quarter of the ledger: no more are kept"})

    def tick(self) -> None:
        """In steps that are not sampled: write what has waited long enough."""
        if self._oldest and time.monotonic() - self._oldest >= 0.75 * self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write now."""
        with self._at_work() as ready:
            if ready:
                self._flush()

    def close(self) -> None:
        """Write the rest and leave one file without a log beside it."""
        if self._base is None:  # nothing was ever written, or it was given up
            if self.mirror and self.problem is None and os.getpid() == self._process:
                self.mirror.end()
            self._process = -1
            return
        with self._at_work() as ready:
            if not ready:
                return
            self._rows.append(("UPDATE part SET closed = 1 WHERE id = ?", (self._part,)))
            self._rows.append(("DELETE FROM meta WHERE key = 'writer'", ()))
            self._flush()
            if self.problem is None:
                with contextlib.suppress(sqlite3.OperationalError):  # another program reads: it stays as it is
                    # a file that is in no log mode can be read where nothing can be written, and readers leave nothing beside it
                    self._base.execute("PRAGMA journal_mode = DELETE")
                if self.mirror:
                    self.mirror.put(self._base)
                    self.mirror.end()
                    if self.mirror.problem:
                        self._give_up(self.mirror.problem)
            self._shut()
            self._process = -1

    def __enter__(self) -> "FrameLedger":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    # ------------------------------------------------------------------ how
    @contextlib.contextmanager
    def _at_work(self):
        """Whether there is a file to write to. Whatever fails inside ends the ledger, never the training."""
        if self.problem is not None or os.getpid() != self._process:  # closed, given up, or a child that inherited it
            yield False
            return
        with self._lock:
            try:
                if self._base is None:
                    self._open()
            except Exception as error:  # as below
                self._give_up(str(error) or type(error).__name__)
            try:
                yield self.problem is None
            except Exception as error:  # the store's, or a mistake of ours: neither may reach the training
                self._give_up(str(error) or type(error).__name__)

    def _open(self) -> None:
        if self.mirror:
            self.mirror.fetch()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        base = self._base = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        # some builds overwrite what is deleted, which would write every frame that goes once more
        base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=OFF; PRAGMA wal_autocheckpoint=0;")
        base.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")  # in one piece, so that a kill leaves all tables or none
        base.execute(f"PRAGMA busy_timeout = {WAIT}")
        meta = dict(base.execute("SELECT key, value FROM meta"))
        if int(meta.get("frames", VERSION)) > VERSION:
            raise OSError("it was written by a newer version of whyloss")
        other = json.loads(meta.get("writer", "{}"))
        if still_runs(other) and other["pid"] != os.getpid():
            if self.mirror:
                raise OSError(f"process {other['pid']} writes it: give this run a folder of its own")
            base.close()  # workers that train side by side, started by one script
            self._base, self.beside = None, f"process {other['pid']} writes {self.file.parent}"
            self.file = self.file.parent / f"process-{os.getpid()}" / self.file.name
            self._open()
            return
        self._known = {(q, s): at for at, q, s in base.execute("SELECT at, quantity, subject FROM slot ORDER BY at")}
        self._part = base.execute("SELECT coalesce(max(id), 0) + 1 FROM part").fetchone()[0]
        self._next = base.execute("SELECT coalesce(max(id), 0) FROM frame").fetchone()[0]
        self._event_steps = [step for (step,) in base.execute("SELECT step FROM event WHERE kind != 'resumed' ORDER BY id")]
        self._events = base.execute("SELECT count(*) FROM event").fetchone()[0]
        self._facts = base.execute("SELECT coalesce(sum(length(value)), 0) FROM observation").fetchone()[0]
        lead = self._known.get(("loss", "run"), next((at for (q, _), at in self._known.items() if q == "loss"), 0))
        for number, part, step, numbers in base.execute("SELECT id, part, step, substr(numbers, ?, 4) FROM frame ORDER BY id", (1 + 4 * lead,)):
            value = np.frombuffer(numbers, "<f4") if len(numbers) == 4 else np.array([ABSENT])
            self._index.add(number, part, step, -np.inf if is_absent(value)[0] else float(value[0]) if np.isfinite(value[0]) else np.inf)
            self._last = step
        me = json.dumps(self._me)
        self._rows += [("INSERT OR REPLACE INTO meta VALUES ('frames', ?)", (str(VERSION),)),
                       ("INSERT OR REPLACE INTO meta VALUES ('writer', ?)", (me,)),
                       ("INSERT OR REPLACE INTO part VALUES (?, ?, NULL, ?, ?, 0, ?)", (self._part, self.run, time.time(), time.time(), me))]

    def _goes_on(self, step: int) -> None:
        """Mark where a run was resumed or went back."""
        back = self._last is not None and step < self._last
        if self._last is not None and self._first is None:
            self._tell(step, "resumed", _resumed("resumed", self._last, step))
        elif back and self._part < MOST_PARTS:
            self._rows.append(("UPDATE part SET closed = 1 WHERE id = ?", (self._part,)))
            self._part, self._first = self._part + 1, None
            self._rows.append(("INSERT OR REPLACE INTO part SELECT ?, run, NULL, ?, ?, 0, writer FROM part WHERE id = ?",
                               (self._part, time.time(), time.time(), self._part - 1)))
            self._tell(step, "went-back", _resumed("went back", self._last, step))
        if self._first is None:
            self._first = step
            self._rows.append(("UPDATE part SET first = ? WHERE id = ?", (step, self._part)))
        self._last = step

    def _tell(self, step: int, kind: str, data) -> None:
        self._rows.append(("INSERT INTO event (part, step, kind, unix, data) VALUES (?, ?, ?, ?, ?)",
                           (self._part, step, str(kind), time.time(), _text(data))))
        self._events += 1
        if kind != "resumed":
            self._event_steps.append(step)
        if self._events > MOST_EVENTS:  # the first ones say how it began, the newest how it stands
            self._rows.append(("DELETE FROM event WHERE id IN (SELECT id FROM event ORDER BY id LIMIT ? OFFSET ?)",
                               (MOST_EVENTS // 2, MOST_EVENTS // 4)))
            self._events -= MOST_EVENTS // 2
            del self._event_steps[MOST_EVENTS // 4: MOST_EVENTS // 4 * 3]

    def _flush(self) -> None:
        """One transaction with all that was gathered."""
        if not self._frames and not self._rows:
            return
        if self._log_size() > 2 * self._log_limit and not self._log_emptied():
            # another program reads without end, so the log cannot be emptied: rather leave out frames than outgrow the limit
            self.held_back += len(self._frames)
            self._emptied()
            if not self._rows:
                return
        base, frames = self._base, self._frames
        try:
            base.execute("BEGIN IMMEDIATE")
            try:
                self._still_mine(base)
                for statement, values in self._rows:
                    base.execute(statement, values)
                base.executemany("INSERT OR REPLACE INTO frame VALUES (?, ?, ?, ?, ?)", frames)
                base.execute("UPDATE part SET wrote = ? WHERE id = ?", (time.time(), self._part))
                dropped = self._drop(base, len(frames))
                base.execute("COMMIT")
            except BaseException:
                self._extremes.forget()
                with contextlib.suppress(sqlite3.Error):
                    base.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            if not any(word in str(error) for word in _BUSY) or self._waited() > BUSY or self._bytes > 4 * FLUSH:
                raise
            self._oldest = time.monotonic()
            return
        self._blocked, self._claimed = None, True
        del self._victims[:dropped]
        for (number, part, step, _, _), lead in zip(frames, self._leads):
            self._index.add(number, part, step, lead)
        self._rows = []
        self._emptied()
        if self._log_size() > self._log_limit:
            self._log_emptied()
        self._look_for_room()
        if self.mirror and self.mirror.due():
            self.mirror.put(base)
            if self.mirror.problem:
                self._give_up(self.mirror.problem)

    def _still_mine(self, base) -> None:
        """Another process (on another machine, or a cell run again) that has taken the file over goes on alone."""
        if self._claimed:
            writer = base.execute("SELECT value FROM meta WHERE key = 'writer'").fetchone()
            if writer is None or json.loads(writer[0]).get("token") != self._me["token"]:
                raise OSError("another process has taken it over: give each run a folder of its own")

    def _emptied(self) -> None:
        self._frames, self._leads = [], []
        self._bytes, self._oldest = 0, 0.0

    def _waited(self) -> float:
        """Seconds for which another program has held the file."""
        self._blocked = self._blocked or time.monotonic()
        return time.monotonic() - self._blocked

    def _look_for_room(self) -> None:
        """Choose frames to go once the file is nearly full; a few of them go with each flush."""
        if self._victims:
            return
        page, pages, free = (self._base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count"))
        if (pages - free) * page > 0.8 * self._room or len(self._index) > MOST_FRAMES:
            self._victims = self._index.thin(self._event_steps, len(self._index) // 2)

    def _drop(self, base, new: int) -> int:
        """Delete the next of the chosen frames, their extremes kept. -> how many"""
        chosen = self._victims[:max(DROPPED, 2 * new)]
        by_part: dict[int, list] = {}
        for number in chosen:
            for part, step, numbers in base.execute("SELECT part, step, numbers FROM frame WHERE id = ?", (number,)):
                by_part.setdefault(part, []).append((step, numbers))
        for part, rows in by_part.items():
            values = blank(max(len(numbers) for _, numbers in rows) // 4, len(rows))
            for at, (_, numbers) in enumerate(rows):
                values[at, :len(numbers) // 4] = np.frombuffer(numbers, "<f4")
            self._extremes.take(base, part, np.array([step for step, _ in rows], np.int64), values)
        base.executemany("DELETE FROM frame WHERE id = ?", [(number,) for number in chosen])
        return len(chosen)

    def _log_emptied(self) -> bool:
        """Move the log's pages into the file, without waiting for a program that reads. -> whether all of it went"""
        self._base.execute("PRAGMA busy_timeout = 0")
        try:
            return self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        except sqlite3.OperationalError as error:
            if not any(word in str(error) for word in _BUSY):
                raise
            return False
        finally:
            self._base.execute(f"PRAGMA busy_timeout = {WAIT}")

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self.file}-wal").st_size
        except OSError:
            return 0

    def _give_up(self, why: str) -> None:
        """Once, in words; the training goes on."""
        if self.problem is None:
            place = self.mirror.address if self.mirror else self.file
            self.problem = f"the ledger {place} is no longer written: {why}; the training goes on without it"
        self._shut()
        self._frames, self._rows, self._leads = [], [], []
        self._index = Index()

    def _shut(self) -> None:
        if self._base is not None:
            with contextlib.suppress(sqlite3.Error):
                self._base.close()
            self._base = None


def _text(value) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= LONGEST else json.dumps({"left_out": f"{len(text)} characters"})


def _resumed(what: str, last: int, step: int) -> dict:
    """What is told where a run goes on from a step that is not the next one. back: steps that are taken again"""
    back = max(0, last - step + 1)
    return {"message": f"{what} at step {step} after step {last}" + (f": {back} steps are taken again" if back else ""),
            "after": last, "at": step, "back": back}


# ---------------------------------------------------------------------- who writes
def _me() -> dict:
    return {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid()), "token": os.urandom(8).hex()}


def _born(pid: int) -> str | None:
    """When a process began, in ticks since the machine did: a number that is used again later has another birth."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return None


def still_runs(writer: dict) -> bool:
    """Whether the process that wrote last still runs, as far as can be seen from here."""
    if writer.get("host") != socket.gethostname():
        return False
    try:
        state = Path(f"/proc/{writer['pid']}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError, KeyError):
        return False
    return state not in ("Z", "X") and _born(writer["pid"]) == writer.get("born")
