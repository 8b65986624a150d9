"""Parquet, Arrow and Feather tables, through polars or pyarrow, whichever is installed."""

import os
import sys
from contextlib import contextmanager

import numpy as np

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import delimited, dialect, opened, roles
from whyloss.sources.readers.fast_table import filled, words_of
from whyloss.sources.readers.table import LABELS, Numbers, Table, Words

FORMAT = "parquet"
LONG = 1 << 20  # rows
BATCH = 1 << 19
_MISSING = 'reading Parquet needs polars or pyarrow: pip install "whyloss[logs]"'


def recognises(path, head: bytes) -> bool:
    return head.startswith((b"PAR1", b"ARROW1")) or opened.plain_name(path).endswith((".parquet", ".pq", ".feather", ".arrow"))


def read(path, *, columns=None) -> list[LoggedRun]:
    arrow = opened.head(path, 6).startswith(b"ARROW1")
    wanted = None if columns is None else set(columns)

    def keep(name):
        return (
            wanted is None
            or name in wanted
            or roles.is_counter(name)
            or roles.short(name) in (*roles.VALUE, *roles.METRIC, *roles.RUNS, *roles.PHASE)
        )

    table = _polars(path, arrow, keep)
    if table is None:
        table = _pyarrow(path, arrow, keep)
    if not table.height or not table.numbers:
        raise NothingLogged(f"{path}: a table without any number")
    found = dialect.Dialect(",", False, tuple(table.numbers) or ("",), 0, False)
    runs = delimited.finish(table, path, found, columns)
    for run in runs:
        run.format = FORMAT if run.format in ("csv", "tsv") else run.format
    return runs


@contextmanager
def _quiet():
    """Nothing on the process's standard error: a decoder that panics on a damaged file prints the frames of its own stack there."""
    try:
        sys.stderr.flush()
        os.fstat(2)
    except (AttributeError, OSError, ValueError):  # there is none
        yield
        return
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _polars(path, arrow: bool, keep) -> Table | None:
    try:
        import polars as pl
    except ImportError:
        return None
    try:
        with _quiet():
            lazy = (pl.scan_ipc if arrow else pl.scan_parquet)(path)
            kinds = {name: kind for name, kind in lazy.collect_schema().items() if keep(name)}
            height = int(lazy.select(pl.len()).collect().item())
            if height >= LONG and hasattr(lazy, "collect_batches") and all(kind.is_integer() or kind.is_float() for kind in kinds.values()):
                return _in_batches(lazy.select(list(kinds)).collect_batches(chunk_size=BATCH, maintain_order=True), kinds, height)
            frame = lazy.select(list(kinds)).collect()
        table = Table(height)
        for rows, column in filled(frame):
            if column.dtype.is_temporal() and column.dtype not in (pl.Time, pl.Duration):
                column = column.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64) / 1e6
            if column.dtype.is_numeric() or column.dtype == pl.Boolean:
                table.numbers[column.name] = Numbers(rows, column.cast(pl.Float64).to_numpy())
            elif column.dtype in (pl.String, pl.Categorical) or isinstance(column.dtype, pl.Enum):
                table.words[column.name] = words_of(column.cast(pl.String), rows, height)
        return table
    except BaseException as error:  # on damaged files the decoder panics, and its panic is no Exception
        raise _unreadable(path, error) from None


def _in_batches(batches, kinds, height: int) -> Table:
    """A long table of numbers, a part at a time into its place: half the memory of a frame and its copy."""
    values = {name: np.empty(height) for name in kinds}
    present = {}
    start = 0
    for batch in batches:
        end = start + batch.height
        for column in batch.get_columns():
            if column.null_count():
                present.setdefault(column.name, np.ones(height, bool))[start:end] = column.is_not_null().to_numpy()
            values[column.name][start:end] = column.to_numpy()
        start = end
    table = Table(height)
    for name, column in values.items():
        rows = np.flatnonzero(present[name]) if name in present else None
        if rows is None or rows.size:
            table.numbers[name] = Numbers(rows, column if rows is None else column[rows])
    return table


def _unreadable(path, error: BaseException) -> BaseException:
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return error
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return LogUnreadable(f"{path}: no readable Parquet or Arrow file: {reason}")


def _pyarrow(path, arrow: bool, keep) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise LogUnreadable(f"{path}: {_MISSING}") from None
    try:
        whole = (
            pa.feather.read_table(path) if arrow else pa.parquet.read_table(path, columns=[n for n in pa.parquet.read_schema(path).names if keep(n)])
        )
        table = Table(whole.num_rows)
        for name in whole.column_names:
            column = whole.column(name)
            rows = None if not column.null_count else np.flatnonzero(column.is_valid().to_numpy())
            kept = column.drop_null()
            if not keep(name) or not len(kept):
                continue
            kind = column.type
            if pa.types.is_timestamp(kind):
                table.numbers[name] = Numbers(rows, kept.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() / 1e6)
            elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
                table.numbers[name] = Numbers(rows, kept.to_numpy().astype(float))
            elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
                labels, codes = np.unique(np.asarray(kept.to_pylist(), dtype=object), return_inverse=True)
                codes = codes.astype(np.int32) if labels.size <= LABELS else np.full(len(kept), -1, np.int32)
                table.words[name] = Words(np.arange(table.height) if rows is None else rows, codes, labels[:LABELS].tolist())
        return table
    except Exception as error:
        raise _unreadable(path, error) from None
