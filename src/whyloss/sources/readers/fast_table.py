"""Long clean CSV files through polars, where it is installed. Whatever polars refuses is left to the own parser, which reads line by line."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from whyloss.sources.readers import dialect as dialects
from whyloss.sources.readers import opened
from whyloss.sources.readers.table import LABELS, Numbers, Table, Words

LONG = 1 << 20  # rows
LEAST = 4 << 20  # bytes: below this the import costs more than it saves
_BLANKS = ["", "None", "none", "null", "NULL", "NA", "N/A", "n/a", "-"]


def suits(path, head: bytes) -> bool:
    """Whether polars can read it and is worth it."""
    return (
        os.path.isfile(path)
        and os.path.getsize(path) >= LEAST
        and not opened.packed(path)
        and opened.encoding(head) == "utf-8"
        and b"\r" not in head.replace(b"\r\n", b"")
    )


def columns_of(block: bytes, dialect: dialects.Dialect, names) -> dict | None:
    """name -> (rows or None, values) of a block of whole lines of numbers, or None where polars is missing or it is anything else."""
    try:
        import polars as pl
    except ImportError:
        return None
    lines, delimiter = block.count(b"\n"), dialect.delimiter.encode()
    # polars fills up lines that are too short, but refuses those that are too long: with the right sum there is neither
    if not delimiter or block.count(delimiter) != lines * (len(names) - 1) or b"\n\n" in block or block.startswith(b"\n"):
        return None
    try:
        frame = pl.read_csv(
            block,
            has_header=False,
            schema=dict.fromkeys(names, pl.Float64),
            separator=dialect.delimiter,
            null_values=_BLANKS,
            decimal_comma=dialect.decimal_comma,
        )
    except Exception:  # as below
        return None
    return None if frame.height != lines else {name: (column.rows, column.values) for name, column in _table(frame, pl).numbers.items()}


def worth(path) -> bool:
    """Whether a file is long enough for polars' import."""
    return os.path.isfile(path) and os.path.getsize(path) >= (LEAST >> 2 if opened.packed(path) else LEAST)


def read(path, dialect: dialects.Dialect, wanted=None) -> Table | None:
    """The table, or None where polars is missing or finds anything that is not a plain table."""
    try:
        import polars as pl
    except ImportError:
        return None
    if not dialect.delimiter:
        return None
    tail, start = _tail(path)
    texts = _text_columns(path, dialect)
    schema = {name: pl.String if place in texts else pl.Float64 for place, name in enumerate(dialect.names)}
    columns = None if wanted is None else [n for place, n in enumerate(dialect.names) if wanted(n) or place in texts]
    try:
        frame = pl.read_csv(
            path,
            has_header=False,
            skip_rows=dialect.skip,
            schema=schema,
            columns=columns,
            separator=dialect.delimiter,
            null_values=_BLANKS,
            decimal_comma=dialect.decimal_comma,
            encoding="utf8-lossy",
        )
    except Exception:  # its errors differ between versions, and every one of them only means: line by line
        return None
    unended = bool(tail.strip())
    if unended:
        frame = frame[:-1]
    table = _table(frame, pl)
    return _with_tail(table, path, dialect, tail, start) if unended else table


def _table(frame, pl) -> Table:
    table = Table(frame.height)
    for rows, kept in filled(frame):
        if kept.dtype == pl.Float64:
            table.numbers[kept.name] = Numbers(rows, kept.to_numpy())
        else:
            table.words[kept.name] = words_of(kept, rows, frame.height)
    return table


def filled(frame) -> list:
    """(rows or None for all, the column without its gaps, in one piece) for each column that is not empty; long ones two at a time."""
    def one(column):
        if not column.null_count():
            return None, column.rechunk()
        return np.flatnonzero(column.is_not_null().to_numpy()), column.drop_nulls().rechunk()

    columns = [column for column in frame.get_columns() if column.null_count() < frame.height]
    if frame.height < LONG or len(columns) < 2:
        return [one(column) for column in columns]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, columns))


def words_of(kept, rows: np.ndarray | None, height: int) -> Words:
    """A column of text without its gaps, as codes."""
    labels = kept.unique().sort()
    codes = (kept.rank("dense").to_numpy() - 1).astype(np.int32) if len(labels) <= LABELS else np.full(len(kept), -1, np.int32)
    return Words(np.arange(height) if rows is None else rows, codes, labels[:LABELS].to_list())


def _text_columns(path, dialect: dialects.Dialect) -> set[int]:
    """Places of the columns that hold text in the first rows."""
    from whyloss.sources.readers.delimited import _lines

    texts = set()
    for line in _lines(opened.head(path))[dialect.skip : 200]:
        for place, cell in enumerate(dialects.split(line, dialect.delimiter)):
            if not dialects.blank(cell) and dialects.number(cell, dialect.decimal_comma) is None:
                texts.add(place)
    return texts


def _tail(path) -> tuple[bytes, bytes]:
    """(what follows the last line end, some lines before it)."""
    with open(path, "rb") as stream:
        stream.seek(max(0, os.path.getsize(path) - (1 << 16)))
        end = stream.read()
    cut = end.rfind(b"\n") + 1
    return end[cut:], end[:cut]


def _with_tail(table: Table, path, dialect: dialects.Dialect, tail: bytes, before: bytes) -> Table:
    """The last line, which has no end, read by the parser that knows how a cut looks."""
    from whyloss.sources.readers.delimited import Parser

    parser = Parser(path, dialect)
    parser.line = table.height + dialect.skip
    parser._tail(opened.text(tail).rstrip("\r"), before.replace(b"\r\n", b"\n"))
    last = parser.gathered.table()
    table.warnings += parser.warnings
    for name, column in last.numbers.items():
        if last.height and name in table.numbers:
            known = table.numbers[name]
            rows = np.arange(table.height) if known.rows is None else known.rows
            full = known.rows is None
            table.numbers[name] = Numbers(None if full else np.r_[rows, table.height], np.r_[known.values, column.values])
    if last.height:
        for name, known in table.numbers.items():
            if known.rows is None and known.values.size == table.height:
                table.numbers[name] = Numbers(np.arange(table.height), known.values)
        table.height += 1
    return table
