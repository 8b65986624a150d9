"""Parquet, Arrow and Feather tables, through polars or pyarrow, whichever is installed."""

import os
import sys
from contextlib import contextmanager

import numpy as np

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import delimited, dialect, opened, roles
from whyloss.sources.readers.fast_table import whole_columns, words_of
from whyloss.sources.readers.table import LABELS, Numbers, Table, Words

FORMAT = "parquet"
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
            schema = (pl.read_ipc_schema if arrow else pl.read_parquet_schema)(path)
            frame = (pl.read_ipc if arrow else pl.read_parquet)(path, columns=[name for name in schema if keep(name)])
        table = Table(frame.height)
        for column in whole_columns(frame, pl.Float64):
            if column.dtype.is_temporal() and column.dtype not in (pl.Time, pl.Duration):
                column = column.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64) / 1e6
            gaps = column.null_count()
            rows = None if not gaps else np.flatnonzero(column.is_not_null().to_numpy())
            kept = column.drop_nulls() if gaps else column
            if not len(kept):
                continue
            if column.dtype.is_numeric() or column.dtype == pl.Boolean:
                table.numbers[column.name] = Numbers(rows, kept.cast(pl.Float64).to_numpy())
            elif column.dtype in (pl.String, pl.Categorical) or isinstance(column.dtype, pl.Enum):
                table.words[column.name] = words_of(kept.cast(pl.String), rows, frame.height)
        return table
    except BaseException as error:  # on damaged files the decoder panics, and its panic is no Exception
        raise _unreadable(path, error) from None


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
