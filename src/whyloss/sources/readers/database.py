"""SQLite files of other programs, opened for reading only: also while they are written, also on a disk that cannot be written."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whyloss.errors import LogUnreadable

MAGIC = b"SQLite format 3\0"


@contextmanager
def opened(path) -> Iterator[sqlite3.Connection]:
    """A connection; whatever is wrong with the file is a LogUnreadable."""
    base = None
    try:
        base = _connect(path)
        yield base
    except (sqlite3.Error, OverflowError, TypeError, ValueError, MemoryError) as error:
        raise LogUnreadable(f"{path}: no readable SQLite file: {error}") from error
    finally:
        if base is not None:
            base.close()


def _connect(path) -> sqlite3.Connection:
    place = Path(path).resolve().as_uri()
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # a write-ahead log in a folder without write access needs the second
        base = sqlite3.connect(f"{place}?{mode}", uri=True, timeout=2.0)
        base.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            base.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return base
        except sqlite3.OperationalError:
            base.close()
            if mode != "mode=ro":
                raise
        except sqlite3.Error:
            base.close()
            raise
    raise sqlite3.OperationalError("cannot be opened")


def columns_of(path) -> dict[str, set[str]]:
    """Table -> names of its columns; empty for what is no readable database."""
    try:
        with opened(path) as base:
            names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: {row[1] for row in base.execute('PRAGMA table_info("{}")'.format(name.replace('"', '""')))} for name in names}
    except LogUnreadable:
        return {}
