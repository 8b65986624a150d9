"""Logs at remote addresses (s3://, gs://, https://, ...), through fsspec: copied to a temporary folder one log at a time, read there, deleted."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whyloss.errors import LogUnreadable

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+(?:::[a-z][a-z0-9+.-]+)*://", re.I)


def is_remote(path) -> bool:
    return isinstance(path, str) and _ADDRESS.match(path) is not None and not path.lower().startswith("file://")


def local(path):
    """A file:// address as a path; any other as it is."""
    if isinstance(path, str) and path.lower().startswith("file://"):
        from urllib.parse import unquote, urlparse

        return unquote(urlparse(path).path)
    return path


def filesystem(address: str):
    """(file system, path in it). Raises LogUnreadable that names the package to install."""
    try:
        import fsspec
    except ImportError:
        raise LogUnreadable(f'{address}: reading a remote address needs fsspec: pip install "whyloss[remote]"') from None
    try:
        return fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise LogUnreadable(f"{address}: {error}") from None
    except Exception as error:  # every kind of store has errors of its own
        raise LogUnreadable(f"{address}: cannot be reached: {_first(error)}") from None


def tree(address: str) -> Iterator[str]:
    """The addresses of all files under an address: a file, a folder or a pattern."""
    system, inside = filesystem(address)
    try:
        if any(mark in inside for mark in "*?["):
            found = system.glob(inside)
            names = [name for one in found for name in (system.find(one) if system.isdir(one) else [one])]
        elif system.isdir(inside):
            names = system.find(inside)
        else:
            names = [inside]
    except Exception as error:  # as above
        raise LogUnreadable(f"{address}: cannot be listed: {_first(error)}") from None
    if not names:
        raise LogUnreadable(f"{address}: nothing there")
    for name in sorted(names):
        yield name if _ADDRESS.match(name) else system.unstrip_protocol(name)


@contextmanager
def fetched(address: str) -> Iterator[str]:
    """A local copy of one file, or of the files of one folder; gone afterwards."""
    system, inside = filesystem(address)
    with tempfile.TemporaryDirectory(prefix="whyloss-") as folder:
        target = os.path.join(folder, os.path.basename(inside.rstrip("/").split("?")[0]) or "log")
        try:
            if not re.match(r"https?:", address) and system.isdir(inside):
                names = system.find(inside)
                for name in names:
                    place = Path(target, os.path.relpath(name, inside))
                    place.parent.mkdir(parents=True, exist_ok=True)
                    system.get_file(name, str(place))
            else:
                system.get_file(inside, target)
        except Exception as error:  # as above
            raise LogUnreadable(f"{address}: cannot be fetched: {_first(error)}") from None
        yield target


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200] or type(error).__name__
