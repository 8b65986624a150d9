"""Which runs lie at the paths that were named: looked at again and again, for a run may begin later."""

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from whyloss.sources import framefile

DEPTH = 4           # folders below a named one
ENTRIES = 20_000    # of a folder tree that are looked at: a data set may lie beside the runs
MOST = 200          # runs, the newest ones
SHARE = 0.05        # of the time at most goes into looking for runs
PAUSE = 1.0         # seconds between two looks


@dataclass(frozen=True)
class Place:
    """Where a run keeps its ledgers. id: the same after a restart; files: one a rank; problem: why there is nothing to follow."""

    id: str
    name: str
    files: tuple[Path, ...] = ()
    problem: str = ""


class Finder:
    """Finds the runs at some paths. `notes` says what was not found, or left out."""

    def __init__(self, paths):
        self.paths = [Path(path) for path in paths]
        self.notes: list[str] = []
        self.next = 0.0
        self._others: dict[str, tuple] = {}   # files that are no ledger of ours, as they were when they were opened

    def due(self) -> bool:
        return time.monotonic() >= self.next

    def look(self) -> list[Place]:
        """Every run there is now, by name."""
        began, places, notes = time.monotonic(), [], []
        for path in self.paths:
            try:
                found = self._at(path, notes)
            except OSError as error:
                found, _ = [], notes.append(f"{path}: {error.strerror or error}")
            places += found
        if len(places) > MOST:
            places.sort(key=_written, reverse=True)
            notes.append(f"{len(places)} runs are there, the {MOST} written last are shown")
            places = places[:MOST]
        self.notes = notes
        self.next = time.monotonic() + max(PAUSE, (time.monotonic() - began) / SHARE)
        return sorted({place.id: place for place in places}.values(), key=lambda place: place.name)

    def _at(self, path: Path, notes: list[str]) -> list[Place]:
        if path.is_file():
            named = _id(path)
            return [Place(named, path.name, (path,), "" if self._ours(path) else f"{path}: no ledger of a watched run")]
        if not path.is_dir():
            notes.append(f"{path}: nothing there yet")
            return []
        found, left = [], [ENTRIES]
        for folder, files in self._folders(path, left):
            inside = folder.relative_to(path).as_posix()
            top = path.name or str(path)
            name = (top if inside == "." else inside) if len(self.paths) == 1 else top if inside == "." else f"{top}/{inside}"
            found.append(Place(_id(folder), name, tuple(files)))
        if left[0] <= 0:
            notes.append(f"{path}: more than {ENTRIES} files, not all were looked at; name the folder of the runs")
        if not found:
            notes.append(f"{path}: no ledger there yet; a run keeps one with `whyloss run --watch FOLDER` or whyloss.Monitor(run=FOLDER)")
        return found

    def _folders(self, top: Path, left: list[int]):
        """(folder, its ledgers) of every folder that holds any."""
        waiting = [(top, 0)]
        while waiting and left[0] > 0:
            folder, depth = waiting.pop(0)
            files, inner = [], []
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        left[0] -= 1
                        if left[0] <= 0:
                            break
                        if entry.name.endswith(".db") and entry.is_file():
                            files.append(Path(entry.path))
                        elif depth < DEPTH and not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                            inner.append((Path(entry.path), depth + 1))
            except OSError:
                continue
            waiting += sorted(inner)
            ours = sorted(file for file in files if self._ours(file))
            if ours:
                yield folder, ours

    def _ours(self, file: Path) -> bool:
        """Whether it is a ledger of frames, or bears the name of one; each state of any other file is opened once."""
        if file.name == "frames.db" or file.name.startswith("frames-rank-"):
            return True
        try:
            told = os.stat(file)
        except OSError:
            return False
        stamp = told.st_ino, told.st_size, told.st_mtime_ns
        if self._others.get(str(file)) == stamp:
            return False
        if framefile.holds_frames(file):
            return True
        self._others[str(file)] = stamp
        return False


def _id(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]


def _written(place: Place) -> float:
    times = [0.0]
    for file in place.files:
        for name in (str(file), f"{file}-wal"):
            try:
                times.append(os.stat(name).st_mtime)
            except OSError:
                continue
    return max(times)
