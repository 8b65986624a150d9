"""CSV and TSV of any dialect: sparse rows, headers in mid-file, columns that change, cut-off lines, quoted numbers.

Blocks that hold numbers only are parsed as a whole; any other block line by line. Long clean files go through polars where it is installed.
"""

import json
import re
import warnings as warning_filters

import numpy as np

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import dialect as dialects
from whyloss.sources.readers import fast_table, opened, roles, wandb_export
from whyloss.sources.readers.gathered import BLANK, Gathered
from whyloss.sources.readers.table import Rows, Table, runs_of

FORMAT = "csv"
SUFFIXES = ".csv", ".tsv", ".tab", ".psv"
_WHOLE = "nan", "inf", "-inf"
SMALL = 1 << 16  # bytes
_NAMELESS = {"", "column1", "Unnamed: 0", "index", "Unnamed: 0.1"}


def recognises(path, head: bytes) -> bool:
    name = opened.plain_name(path)
    if name.endswith(SUFFIXES):
        return not opened.is_binary(head)
    if name.endswith((".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".py", ".md", ".html", ".xml", ".toml")) or opened.is_binary(head):
        return False
    lines = _lines(head)
    found = dialects.sniff(lines)
    if found is None:
        return False
    rows = [dialects.split(line, found.delimiter) for line in lines[found.skip : 60]]
    numbers = [[dialects.number(cell, found.decimal_comma) is not None or dialects.blank(cell) for cell in row] for row in rows if len(row) > 0]
    cells = [cell for row in numbers for cell in row]
    # a log line with a comma in its time stamp is no table
    return len(cells) > 1 and sum(cells) >= 0.7 * len(cells) and sum(len(row) == len(found.names) for row in rows) >= 0.8 * len(rows)


def read(path, *, columns=None) -> list[LoggedRun]:
    """The runs of a table. columns: the names of the series that are wanted; counters are read in any case."""
    head = opened.head(path)
    if not head.strip():
        raise NothingLogged(f"{path}: the file is empty")
    if opened.is_binary(head):
        raise LogUnreadable(f"{path}: binary data, not text")
    found = dialects.sniff(_lines(head)[:200])
    if found is None:
        raise LogUnreadable(f"{path}: line 1: no table: the lines do not have the same number of cells")
    wanted = None if columns is None else _wanted(set(columns))
    table = fast_table.read(path, found, wanted) if fast_table.suits(path, head) else None
    if table is None:
        table = Parser(path, found, wanted).table()
    if not table.height:
        raise NothingLogged(f"{path}: only a header, no rows: nothing was logged")
    return finish(table, path, found, columns)


def finish(table: Table, path, found: dialects.Dialect, columns) -> list[LoggedRun]:
    """Runs from a table as it was read: without a row number, with the settings of comment lines, the metric's name where the file name has it."""
    name = opened.plain_name(path)
    for note in found.notes:
        if note.lstrip("# ").startswith("{"):
            try:  # stable-baselines' monitor.csv
                told = json.loads(note.lstrip("# "))
                table.settings.update({k: v for k, v in told.items() if isinstance(v, (int, float, str))})
            except ValueError:
                pass
    first = found.names[0]
    index = table.numbers.get(first)
    if (
        first in _NAMELESS
        and found.headed
        and index is not None
        and index.rows is None
        and len(table.numbers) > 1
        and np.array_equal(index.values, np.arange(table.height))
    ):
        del table.numbers[first]  # pandas' row number
    tagged = re.search(r"tag-(.+?)\.(?:csv|tsv)$", name)
    metrics = [n for n in table.numbers if not roles.is_counter(n)]
    if tagged and metrics in (["Value"], ["value"]):  # TensorBoard's download of one curve
        table.numbers[tagged[1]] = table.numbers.pop(metrics[0])
    parts = wandb_export.split(table, str(path))
    if parts:
        return [run for id, part in parts for run in runs_of(part, id, "W&B export", columns=columns, files=(path,))]
    return runs_of(table, opened.name_of(path), form(path, found, table), columns=columns, files=(path,))


def form(path, found: dialects.Dialect, table: Table) -> str:
    """What wrote it, where that shows."""
    name = opened.plain_name(path)
    if name == "metrics.csv" and "step" in table.numbers and "epoch" in table.numbers:
        return "Lightning metrics.csv"
    if name == "results.csv" and any(n.startswith(("train/", "val/")) for n in table.numbers):
        return "YOLO results.csv"
    if name == "progress.csv":
        return "progress.csv"
    return "tsv" if found.delimiter == "\t" else "csv"


def _wanted(names: set[str]):
    return lambda name: name in names or roles.is_counter(name) or roles.short(name) in (*roles.VALUE, *roles.RUNS, *roles.EPISODES)


def _lines(head: bytes) -> list[str]:
    """Lines of the start of a file; the last, cut by the end of `head`, is left out if it is not the only one."""
    name = opened.encoding(head)
    told = head.decode(name, "replace") if name != "utf-8" else opened.text(_whole(head).removeprefix(b"\xef\xbb\xbf"))
    lines = told.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n")
    return lines[:-1] if len(lines) > 1 and (len(head) >= opened.HEAD or not lines[-1]) else lines


def _whole(head: bytes) -> bytes:
    """Without a letter that the cut at HEAD bytes broke."""
    return head[: head.rfind(b"\n") + 1] or head if len(head) >= opened.HEAD else head


class Parser:
    """One pass over the blocks of a table."""

    def __init__(self, path, dialect: dialects.Dialect, wanted=None):
        self.path, self.dialect, self.names = path, dialect, dialect.names
        self.gathered = Gathered(wanted)
        self.texty = 0  # small pieces in a row that were not numbers only: after a few, the rest is taken to be like them
        self.fast = fast_table.worth(path)
        self.warnings: list[str] = []
        self.line = 0
        self.recent = b""  # the last whole lines, by which a cut one is told
        self.short: list[int] = []  # lines of fewer cells than the header: at most a few are kept
        self.long: list[int] = []
        self.misfits = 0

    def table(self) -> Table:
        blocks = opened.blocks(self.path, self.warnings)
        skipped = 0
        for block in blocks:
            while skipped < self.dialect.skip and block:
                _, _, block = block.partition(b"\n")
                skipped, self.line = skipped + 1, self.line + 1
            if block:
                self.block(block)
        if self.misfits:
            where = ", ".join(map(str, sorted(self.short + self.long)[:5]))
            self.warnings.append(
                f"{self.path}: {self.misfits} lines have another number of cells than the header (lines {where}"
                + (", ..." if self.misfits > 5 else "")
                + ")"
            )
        return self.gathered.table(warnings=self.warnings)

    def block(self, block: bytes) -> None:
        """Whole lines of UTF-8; the last may lack its end, and then be cut off."""
        cut = block.rfind(b"\n") + 1
        block, tail = block[:cut], block[cut:]
        if block:
            self._numbers_or_lines(block)
            self.recent = block[-4000:].partition(b"\n")[2] if len(block) > 4000 else block
        if tail.strip():
            self._tail(opened.text(tail), self.recent)

    def _numbers_or_lines(self, block: bytes) -> None:
        """Whole lines: as a whole if they are numbers; else the halves, so that one line of text costs its neighbours little."""
        if self.texty < 4:
            columns = fast_table.columns_of(block, self.dialect, self.names) if self.fast else None
            matrix = self._matrix(block) if columns is None else None
            if columns is not None:
                self.gathered.add_columns(block.count(b"\n"), columns)
            elif matrix is not None:
                self.gathered.add_matrix(self.names, matrix)
            if columns is not None or matrix is not None:
                self.line += block.count(b"\n")
                self.texty = 0
                return
            middle = block.find(b"\n", len(block) // 2) + 1
            if len(block) > SMALL and 0 < middle < len(block):
                self._numbers_or_lines(block[:middle])
                self._numbers_or_lines(block[middle:])
                return
            self.texty += 1
        self._by_line(block)

    def _matrix(self, block: bytes) -> np.ndarray | None:
        """(rows, columns) if the block holds numbers and blanks only, in rows of the header's width; else None."""
        delimiter, width = self.dialect.delimiter.encode(), len(self.names)
        if not delimiter or width < 2 or b"#" in block:
            return None
        for quote in (b'"', b" ", b"\t" if delimiter != b"\t" else b" "):
            if quote in block:
                block = block.replace(quote, b"")
        while b"\n\n" in block:
            block = block.replace(b"\n\n", b"\n")
        block = block.lstrip(b"\n")
        if not block:
            return np.empty((0, width))
        octets = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(octets == 10)
        marks = np.searchsorted(np.flatnonzero(octets == delimiter[0]), ends)
        if not (np.diff(marks, prepend=0) == width - 1).all():
            return None
        if self.dialect.decimal_comma:
            block = block.replace(b".", b"").replace(b",", b".")
        blank, comma = repr(BLANK).encode(), b","
        block = block.replace(delimiter, comma).replace(b"\n", comma)
        if block.startswith(comma):
            block = blank + block
        while b",," in block:
            block = block.replace(b",,", comma + blank + comma)
        with warning_filters.catch_warnings():
            warning_filters.simplefilter("ignore", DeprecationWarning)
            try:
                flat = np.fromstring(block[:-1], sep=",")
            except ValueError:  # text in a cell
                return None
        return flat.reshape(-1, width) if flat.size == ends.size * width else None

    def _by_line(self, block: bytes) -> None:
        part, open_quote = Rows(), ""
        for line in opened.text(block).split("\n")[:-1]:
            self.line += 1
            if open_quote or (self.dialect.quoted and line.count('"') % 2):  # a line end within quotes
                open_quote = f"{open_quote} {line}" if open_quote else line
                if open_quote.count('"') % 2 and len(open_quote) < 10000:
                    continue
                line, open_quote = open_quote, ""
            part = self._add(part, line)
        if open_quote:
            part = self._add(part, open_quote.replace('"', ""))
        self.gathered.add_rows(part)

    def _add(self, part: Rows, line: str) -> Rows:
        if not line.strip() or line.startswith("#"):
            return part
        cells = dialects.split(line, self.dialect.delimiter)
        if self._header(cells):
            return part
        self._fit(cells)
        part.add(self._named(cells))
        return part

    def _header(self, cells: list[str]) -> bool:
        first = next((cell for cell in cells if not dialects.blank(cell)), "")
        if (
            not self.dialect.headed
            or not first
            or dialects.number(first, self.dialect.decimal_comma) is not None
            or not dialects.is_repeat(cells, self.names, self.dialect.decimal_comma)
        ):
            return False
        names = dialects.unique(cells)
        if names != self.names:
            self.warnings.append(f"{self.path}: line {self.line}: another header, of {len(names)} columns after {len(self.names)}")
            self.names = names
        return True

    def _fit(self, cells: list[str]) -> None:
        while len(cells) > len(self.names) and dialects.blank(cells[-1]):
            cells.pop()
        if len(cells) != len(self.names):
            self.misfits += 1
            kept = self.short if len(cells) < len(self.names) else self.long
            if len(kept) < 6:
                kept.append(self.line)

    def _named(self, cells: list[str]) -> dict:
        comma, named = self.dialect.decimal_comma, {}
        names = self.names if len(cells) <= len(self.names) else (*self.names, *(f"column{i + 1}" for i in range(len(self.names), len(cells))))
        for name, cell in zip(names, cells[: len(self.names) + 1000]):
            if cell and not dialects.blank(cell):
                number = dialects.number(cell, comma)
                named[name] = cell.strip("\"' ") if number is None else number
        return named

    def _tail(self, line: str, before: bytes) -> None:
        """The last line, without its end: kept if it looks whole."""
        self.line += 1
        cells = dialects.split(line, self.dialect.delimiter)
        if self._header(cells):
            return
        rows = opened.text(before[-4000:]).split("\n")[:-1]
        usual = [row.split(self.dialect.delimiter or None) for row in rows]
        lengths = [len(row[-1].strip()) for row in usual if row and len(row) == len(self.names)]
        if len(cells) < len(self.names):
            self.warnings.append(f"{self.path}: line {self.line}: the last line is cut off: left out")
            return
        cell, typical = cells[-1], float(np.median(lengths)) if lengths else 0
        ended = re.fullmatch(r".*(?:[.eE+-]|\d[eE])", cell) is None
        if cell and (not ended or (typical and len(cell) < 0.5 * typical and cell.lower() not in _WHOLE and not dialects.blank(cell))):
            self.warnings.append(f"{self.path}: line {self.line}: the last cell is cut off: left out")
            cells[-1] = ""
        part = Rows()
        self._fit(cells)
        part.add(self._named(cells))
        self.gathered.add_rows(part)
