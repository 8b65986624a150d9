"""The report as strict JSON: non-finite numbers are the strings "NaN", "Infinity", "-Infinity"."""

import json
import math
from pathlib import Path

from whyloss.report import Report

_NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Under these keys a value is text, even if it reads "NaN".
_TEXT = {
    "cause", "status", "subject", "file", "measured", "expected", "message", "remedies", "explains", "cites", "check",
    "series", "quantity", "label", "also", "detail", "run", "outcome", "reason", "stage", "id", "origin", "parent",
    "step_unit", "summary", "not_examined", "name", "kind", "in", "out", "script", "experiment", "change", "versions",
    "title", "subjects", "segments",
}


def strict(value):
    """The same structure with every non-finite number named, tuples as lists and unknown objects as text."""
    if isinstance(value, dict):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(v) for v in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if not isinstance(value, float):
        try:
            value = float(value)  # NumPy scalars
        except (TypeError, ValueError):
            return str(value)
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def numbers(value, key: str = ""):
    """The inverse of `strict` for what was written by us: named numbers become floats, text stays text."""
    if key in _TEXT:
        return value
    if isinstance(value, dict):
        return {k: numbers(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers(v) for v in value]
    return _NAMES.get(value, value) if isinstance(value, str) else value


def dumps(data, *, indent: int | None = 2) -> str:
    """Strict JSON text of any report-like structure."""
    return json.dumps(strict(data), indent=indent, ensure_ascii=False, allow_nan=False)


def loads(text: str):
    """What `dumps` wrote. Raises ValueError on anything else."""
    return numbers(json.loads(text))


def render(report: Report) -> str:
    """The report as JSON text, with a line break at its end."""
    return dumps(report.as_dict()) + "\n"


def read(path: Path | str) -> Report:
    """A report written by `render`. Raises OSError, ValueError or KeyError if it is none."""
    return Report.from_dict(loads(Path(path).read_text(encoding="utf-8")))
