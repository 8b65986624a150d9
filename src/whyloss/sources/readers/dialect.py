"""How a table of text is written: its delimiter, its decimal mark, its header. Told from the first lines."""

import csv
import re
from dataclasses import dataclass

from whyloss.sources.readers import roles
from whyloss.sources.readers.table import BLANK, to_number

DELIMITERS = ",", ";", "\t", "|"


@dataclass(frozen=True)
class Dialect:
    """delimiter: one character, or "" for runs of spaces (and for one column). names: of the columns; skip: lines before the first row."""

    delimiter: str
    decimal_comma: bool
    names: tuple[str, ...]
    skip: int
    quoted: bool
    headed: bool = True
    notes: tuple[str, ...] = ()  # comment lines before the header


def split(line: str, delimiter: str, quoted: bool = True) -> list[str]:
    """The cells of one line, without the spaces around them."""
    if not delimiter:
        return line.split()
    if quoted and '"' in line:
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
        except csv.Error:  # a quote that does not end
            pass
    return [cell.strip() for cell in line.split(delimiter)]


def blank(cell: str) -> bool:
    return cell.strip().strip("\"'").strip().lower() in BLANK


def number(cell: str, decimal_comma: bool) -> float | None:
    return to_number(cell.replace(".", "").replace(",", ".") if decimal_comma and "," in cell else cell)


def sniff(lines: list[str]) -> Dialect | None:
    """The dialect of the first lines of a file; None if they are no table. lines: without their ends, the last may be cut."""
    skip, notes = _comments(lines)
    body = [line for line in lines[skip:] if line.strip() and not line.startswith("#")]
    if not body:
        return None
    if re.fullmatch(r"sep=(.)", body[0].strip()):  # Excel's own line
        skip, body = skip + 1, body[1:]
        if not body:
            return None
    delimiter = _delimiter(body)
    if delimiter is None:
        return None
    comma = delimiter != "," and _decimal_comma(body, delimiter)
    quoted = any('"' in line for line in body)
    first = split(body[0], delimiter)
    while lines[skip].strip() == "" or lines[skip].startswith("#"):
        skip += 1
    if _is_header(first, comma):
        return Dialect(delimiter, comma, unique(first), skip + 1, quoted, True, tuple(notes))
    named = split(notes[-1].lstrip("# "), delimiter) if notes and not notes[-1].lstrip("# ").startswith("{") else []
    if len(named) == len(first):  # numpy.savetxt's header
        return Dialect(delimiter, comma, unique(named), skip, quoted, True, tuple(notes[:-1]))
    return Dialect(delimiter, comma, tuple(f"column{i + 1}" for i in range(len(first))), skip, quoted, False, tuple(notes))


def _comments(lines: list[str]) -> tuple[int, list[str]]:
    skip, notes = 0, []
    while skip < len(lines) and (not lines[skip].strip() or (lines[skip].startswith("#") and skip < len(lines) - 1)):
        if lines[skip].strip():
            notes.append(lines[skip].strip())
        skip += 1
    return skip, notes


def _delimiter(body: list[str]) -> str | None:
    """The delimiter that cuts most lines into the same number of cells as the first; "" for spaces or a single column of numbers."""
    best, score = None, 0.0
    sample = body[:60]
    for delimiter in DELIMITERS:
        cells = [split(line, delimiter) for line in sample]
        width = len(cells[0])
        if width < 2:
            continue
        same = sum(len(row) == width for row in cells) / len(cells)
        numeric = _numeric_share(cells[1:] or cells, delimiter != ",")
        if same >= 0.5 and numeric * same > score + 0.05 * (best is not None):
            best, score = delimiter, numeric * same
        elif best is None and same == 1.0 and len(sample) == 1 and all(re.fullmatch(r"[\w\s./%()\[\]:@#+-]*", c.strip('"')) for c in cells[0]):
            best = delimiter  # a header alone
    if best is not None:
        return best if score >= 0.3 or len(sample) == 1 else None
    cells = [line.split() for line in sample]
    width = len(cells[0])
    rows = cells[1:] if _is_header(cells[0], False) else cells
    if rows and len(rows) >= 2 and width >= 1 and sum(len(row) == width for row in rows) >= 0.9 * len(rows) and _numeric_share(rows, True) > 0.95:
        return ""
    return None


def _numeric_share(rows: list[list[str]], comma: bool) -> float:
    cells = [cell for row in rows for cell in row if not blank(cell)]
    return sum(number(cell, comma) is not None for cell in cells) / len(cells) if cells else 0.3


def _decimal_comma(body: list[str], delimiter: str) -> bool:
    cells = [cell for line in body[:60] for cell in split(line, delimiter)]
    commas = sum(bool(re.fullmatch(r"[-+]?\d*(?:\.\d{3})*,\d+(?:[eE][-+]?\d+)?", cell)) for cell in cells)
    points = sum(bool(re.fullmatch(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?", cell)) for cell in cells)
    return commas > points


def _is_header(cells: list[str], comma: bool) -> bool:
    """No cell is a number, or nearly none is, some are names."""
    filled = [cell for cell in cells if cell.strip("\"' ")]
    words = sum(number(cell, comma) is None and not blank(cell) for cell in filled)
    return bool(filled) and words >= max(1, 0.6 * len(filled)) and (number(cells[0], comma) is None or words == len(filled))


def is_repeat(cells: list[str], names: tuple[str, ...], comma: bool) -> bool:
    """Whether a row in mid-file is a header: the same one after a resume, or another after the columns changed."""
    known = {name.split("#")[0] for name in names}
    filled = [cell.strip("\"' ") for cell in cells if cell.strip("\"' ")]
    if not filled or not _is_header(cells, comma):
        return False
    shared = sum(cell in known for cell in filled)
    return shared >= 0.3 * len(filled) or (len(filled) > 1 and len(set(filled)) == len(filled) and any(roles.is_counter(cell) for cell in filled))


def unique(cells: list[str]) -> tuple[str, ...]:
    """Names of columns: stripped, the unnamed by place, the repeated told apart by #2, #3."""
    seen: dict[str, int] = {}
    names = []
    for place, cell in enumerate(cells):
        name = cell.strip().strip('"').strip() or f"column{place + 1}"
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(names)
