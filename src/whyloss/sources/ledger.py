"""Evidence <-> disk: a small SQLite file of the process's observations, readable after a kill -9. Needs no torch.

Written from the training thread, about once a second and never for more than a fiftieth of the time; a file that cannot
be written is given up, the watching goes on. The packed frames of a long training are in frames.py.
"""

import json
import os
import sqlite3
import time
from pathlib import Path

from whyloss.evidence import Evidence
from whyloss.observation import Run
from whyloss.sources.framefile import OBSERVATIONS, FrameReader, holds_frames, last_frame, read_frames
from whyloss.sources.frames import FrameLedger, ledger_file
from whyloss.sources.merging import merge

__all__ = ["FrameLedger", "FrameReader", "Ledger", "fullest", "last_frame", "ledger_file", "merge", "read", "read_frames"]

SECONDS = 1.0     # between two writes
SHARE = 0.02      # of the run's time at most
FIRST = 8         # backward passes before the first write


class Ledger:
    """Writes one process's evidence. `problem` says why it was given up, if it was."""

    def __init__(self, folder: Path, name: str | None = None):
        self.file = Path(folder) / (name or f"ledger-{os.getpid()}.db")
        self.base: sqlite3.Connection | None = None
        self.written: dict[tuple[str, str, str], int] = {}
        self.next = 0.0
        self.problem: str | None = None

    def due(self, backwards: int) -> bool:
        """Whether it is time to write again."""
        return self.problem is None and backwards >= FIRST and time.monotonic() >= self.next

    def write(self, evidence: Evidence, latest: Evidence) -> None:
        """Append what is new in `evidence`; replace the facts of the run so far by `latest`."""
        began = time.monotonic()
        try:
            self._open()
            with self.base:
                self.base.executemany("INSERT INTO observation VALUES (?, ?, ?, ?, ?)", list(self._new(evidence)))
                self.base.execute("DELETE FROM latest")
                self.base.executemany("INSERT INTO latest VALUES (?, ?, ?, ?, ?)", [_row(o) for o in latest])
        except (sqlite3.Error, OSError) as error:
            self.problem = str(error)
            self.close()
        now = time.monotonic()
        self.next = now + max(SECONDS, (now - began) / SHARE)

    def close(self) -> None:
        if self.base is not None:
            try:
                self.base.close()
            except sqlite3.Error:
                pass
            self.base = None

    def _open(self) -> None:
        if self.base is None:
            self.base = sqlite3.connect(self.file)
            self.base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;" + OBSERVATIONS)

    def _new(self, evidence: Evidence):
        for key, column in evidence.columns():
            known = self.written.get(key, 0)
            if len(column) > known:
                for step, value in zip(column.steps[known:], column.values[known:]):
                    yield (*key, step, _text(value))
                self.written[key] = len(column)


def read(file: Path) -> Evidence:
    """The evidence in a ledger file, as far as it was written, packed frames too. Raises sqlite3.Error for what is no ledger."""
    if holds_frames(file):
        return read_frames(file)
    evidence = Evidence()
    evidence.add_run(Run("main", "watched"))
    base = sqlite3.connect(file)
    try:
        for table in ("observation", "latest"):
            for run, quantity, subject, step, value in base.execute(f"SELECT run, quantity, subject, step, value FROM {table} ORDER BY rowid"):
                evidence.add(quantity, json.loads(value), subject=subject, step=step, run=run)
    finally:
        base.close()
    return evidence


def fullest(folder: Path) -> Evidence | None:
    """The evidence of the process that trained most, of all that kept a ledger in `folder`; None if none did."""
    found = []
    for file in sorted(Path(folder).glob("ledger-*.db")):
        try:
            found.append(read(file))
        except (sqlite3.Error, ValueError):
            continue  # killed in its first write
    # of several ranks the first speaks
    return max((e for e in found if len(e)), key=lambda e: (-e.fact("rank", default={"rank": 0})["rank"], len(e)), default=None)


def _row(observation) -> tuple:
    return observation.run, observation.quantity, observation.subject, observation.step, _text(observation.value)


def _text(value) -> str:
    return json.dumps(value, default=str)
