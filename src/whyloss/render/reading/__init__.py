"""Show what logs say: one run with its picture, or a table of many, on a terminal, as JSON, Markdown or an HTML page."""

from pathlib import Path

from whyloss.errors import BadInput
from whyloss.render.reading.words import Readings

FORMATS = {".json": "json", ".html": "html", ".md": "markdown"}


def format_of(path: Path | str) -> str:
    """The format that belongs to the suffix of `path`. Raises BadInput if there is none."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise BadInput(f"cannot tell the format of report file {str(path)!r}: its suffix should be one of {', '.join(FORMATS)}")
    return FORMATS[suffix]


def write(readings: Readings, path: Path | str) -> None:
    """Write a reading, its format by suffix. The file appears whole or not at all. Raises BadInput or OSError."""
    from importlib import import_module

    from whyloss.render import put

    put(path, import_module(f"{__name__}.{format_of(path)}").render(readings))
