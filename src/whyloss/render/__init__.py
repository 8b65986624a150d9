"""Show: a report as terminal text, HTML, JSON, Markdown, SARIF, JUnit or GitHub annotations. Reads the report only."""

import os
import tempfile
from importlib import import_module
from pathlib import Path

from whyloss.errors import BadInput
from whyloss.report import Report

FORMATS = {".json": "json", ".html": "html", ".md": "markdown", ".sarif": "sarif", ".xml": "junit"}


def format_of(path: Path | str) -> str:
    """The format that belongs to the suffix of `path`. Raises BadInput if there is none."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise BadInput(f"cannot tell the format of report file {str(path)!r}: its suffix should be one of "
                       f"{', '.join(FORMATS)}")
    return FORMATS[suffix]


def render(report: Report, format: str) -> str:
    """The report as text in one of the FORMATS."""
    return import_module(f"{__name__}.{format}").render(report)


def write(report: Report, path: Path | str) -> None:
    """Write the report, its format by suffix. The file appears whole or not at all. Raises BadInput or OSError."""
    put(path, render(report, format_of(path)))


def put(path: Path | str, text: str) -> None:
    """Write a text file that appears whole or not at all. Raises OSError."""
    path = Path(path)
    if path.exists() and not path.is_file():  # a pipe or device: nothing to replace
        path.write_text(text, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
