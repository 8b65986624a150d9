"""A ledger at a remote address (s3://, gs://, memory://): written here, copied there now and then and at the end. Needs fsspec."""

import contextlib
import os
import re
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

SECONDS = 30.0     # between two copies
SHARE = 0.01       # of the run's time at most
PATIENCE = 3       # copies that fail one after another before no more is tried


def is_remote(file) -> bool:
    return "://" in str(file) and not str(file).lower().startswith("file://")


class Mirror:
    """The local file behind an address. `problem` says why it is copied no more."""

    def __init__(self, address: str):
        self.address = str(address)
        self.folder = Path(tempfile.mkdtemp(prefix="whyloss-"))
        self.local = self.folder / (re.sub(r"[^\w.-]", "_", self.address.rstrip("/").rsplit("/", 1)[-1]) or "frames.db")
        self.problem: str | None = None
        self.next = time.monotonic() + SECONDS
        self.failures = 0

    def fetch(self) -> None:
        """What an earlier process left there, so that the run continues it. Raises OSError where the store cannot be reached."""
        try:
            system, inside = self._system()
            if system.exists(inside):
                system.get_file(inside, str(self.local))
        except Exception as error:  # every kind of store has errors of its own
            shutil.rmtree(self.folder, ignore_errors=True)
            raise OSError(f"{self.address} cannot be reached: {_first(error)}") from error

    def due(self) -> bool:
        return self.problem is None and time.monotonic() >= self.next

    def put(self, base: sqlite3.Connection) -> None:
        """One state of the ledger, copied: under another name first, so that who reads there never meets half a file."""
        began, copy = time.monotonic(), self.folder / "copy.db"
        try:
            with contextlib.closing(sqlite3.connect(copy)) as twin:
                base.backup(twin)
                twin.execute("PRAGMA journal_mode=DELETE")  # the copy is one file, readable where nothing can be written
            system, inside = self._system()
            system.makedirs(inside.rsplit("/", 1)[0], exist_ok=True)
            system.put_file(str(copy), f"{inside}.part")
            try:
                system.mv(f"{inside}.part", inside)
            except Exception:  # stores that move nothing onto a file that is there
                system.rm(inside)
                system.mv(f"{inside}.part", inside)
            self.failures = 0
        except Exception as error:  # as above
            self.failures += 1
            if self.failures >= PATIENCE:
                self.problem = f"it cannot be copied there ({_first(error)}), what was written until now lies in {self.local}"
        finally:
            with contextlib.suppress(OSError):
                os.unlink(copy)
        now = time.monotonic()
        self.next = now + max(SECONDS, (now - began) / SHARE)

    def end(self) -> None:
        """The local file goes, if its last state has arrived."""
        if self.failures == 0:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif self.problem is None:
            self.problem = f"its end could not be copied there, the whole lies in {self.local}"

    def _system(self):
        import fsspec  # only who names an address needs it

        return fsspec.core.url_to_fs(self.address)


def _first(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f'{error}; pip install "whyloss[remote]"'
    return (str(error).splitlines() or [type(error).__name__])[0][:200] or type(error).__name__
