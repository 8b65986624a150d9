"""The user's lines around a place, as far as the file can be read."""

import linecache
from pathlib import Path

from whyloss.finding import Location
from whyloss.render.words import plain


def excerpt(location: Location, *, around: int = 2) -> list[tuple[int, str, bool]]:
    """(line number, text, is it the line?) for the line and `around` lines on both sides; [] if it cannot be read."""
    lines = text_of(location.file)
    if not 1 <= location.line <= len(lines):
        return []
    first, last = max(1, location.line - around), min(len(lines), location.line + around)
    wanted = [(n, plain(lines[n - 1].rstrip("\r")), n == location.line) for n in range(first, last + 1)]
    while wanted and not wanted[-1][2] and not wanted[-1][1].strip():
        wanted.pop()
    while wanted and not wanted[0][2] and not wanted[0][1].strip():
        wanted.pop(0)
    indent = min((len(t) - len(t.lstrip()) for _, t, _ in wanted if t.strip()), default=0)
    return [(n, t[indent:], hit) for n, t, hit in wanted]


def text_of(file: str) -> list[str]:
    """The lines of a source file; [] if it cannot be read or is no source. Of a notebook's cell, or a frozen step: as they were."""
    kept = linecache.cache.get(file)
    if kept is not None and len(kept) == 4 and kept[1] is None:  # put there by hand: no file's date belongs to it
        return [line.rstrip("\n") for line in kept[2]]
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > 10_000_000:
            return []
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except (OSError, ValueError):
        return []
