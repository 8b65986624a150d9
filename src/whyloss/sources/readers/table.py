"""A log as a table of sparse columns, and the one way from there to runs: which columns count, which words tell rows apart, what becomes a curve."""

import math
import re
from array import array
from dataclasses import dataclass, field

import numpy as np

from whyloss.logged import LoggedRun, LoggedSeries
from whyloss.sources.readers import moments, roles

LABELS = 4096  # distinct words of a column that are held; a column of more is prose
MOST_RUNS = 2000  # runs in one file


@dataclass
class Numbers:
    """One numeric column. rows: the rows that have a value, or None where all have. values: float64, one per row of `rows`."""

    rows: np.ndarray | None
    values: np.ndarray

    def at(self, height: int) -> np.ndarray:
        """-> (height,) float64, NaN where the row has no value."""
        if self.rows is None:
            return self.values
        spread = np.full(height, np.nan)
        spread[self.rows] = self.values
        return spread


@dataclass
class Words:
    """One column of text: codes index into labels, -1 where there were too many to hold."""

    rows: np.ndarray
    codes: np.ndarray
    labels: list[str]


@dataclass
class Table:
    """height rows; a column has a value in some of them."""

    height: int
    numbers: dict[str, Numbers] = field(default_factory=dict)
    words: dict[str, Words] = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unit: str | None = None  # what the step column counts, where the reader knows better than its name
    aside: np.ndarray | None = None  # (height,) bool: rows of an evaluation, whose counter may be its own


class Rows:
    """A table that is filled row by row."""

    def __init__(self) -> None:
        self.height = 0
        self._numbers: dict[str, tuple[array, array]] = {}
        self._words: dict[str, tuple[array, array, dict]] = {}

    def add(self, cells: dict) -> None:
        """One row: name -> number or text. None and blank text are no values."""
        row = self.height
        self.height += 1
        for name, value in cells.items():
            if value is None or value == "":
                continue
            if not isinstance(value, (int, float)):
                number = to_number(value)
                if number is None:
                    self._word(name, row, str(value))
                    continue
                value = number
            column = self._numbers.get(name)
            if column is None:
                column = self._numbers[name] = array("q"), array("d")
            column[0].append(row)
            try:
                column[1].append(value)
            except OverflowError:  # an integer beyond float64
                column[1].append(math.inf if value > 0 else -math.inf)

    def _word(self, name: str, row: int, value: str) -> None:
        rows, codes, labels = self._words.setdefault(name, (array("q"), array("i"), {}))
        code = labels.get(value)
        if code is None:
            code = len(labels) if len(labels) < LABELS else -1
            if code >= 0:
                labels[value[:500]] = code
        rows.append(row)
        codes.append(code)

    def table(self, **more) -> Table:
        numbers = {
            n: Numbers(None if len(r) == self.height else np.frombuffer(r, np.int64), np.frombuffer(v, np.float64))
            for n, (r, v) in self._numbers.items()
        }
        words = {n: Words(np.frombuffer(r, np.int64), np.frombuffer(c, np.int32), list(labels)) for n, (r, c, labels) in self._words.items()}
        return Table(self.height, numbers, words, **more)


_ODD = {
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
    "+inf": math.inf,
    "-nan": math.nan,
    "1.#qnan": math.nan,
    "1.#inf": math.inf,
    "-1.#ind": math.nan,
    "+nan": math.nan,
    "+infinity": math.inf,
}
BLANK = {"", "-", "--", "none", "null", "na", "n/a", "<na>", "nil", "#n/a", "?"}
_TENSOR = re.compile(
    r"(?:tensor|array|np\.\w+|jnp\.\w+|Array)?\(?\s*\[*\s*([-+]?[\w.+-]+?)\.?\s*\]*\s*(?:,\s*(?:device|dtype|grad_fn|requires_grad)\s*=.*)?\)?$"
)


def to_number(cell) -> float | None:
    """A cell's number; None where it holds none. Also "tensor(0.5, device='cuda:0')", "12%", "3/10", and True as 1."""
    if isinstance(cell, bool | int | float):
        return float(cell)
    cell = str(cell).strip().strip("\"'").strip()
    try:
        return None if "_" in cell else float(cell)  # Python would read 1_000
    except (ValueError, OverflowError):
        pass
    low = cell.lower()
    if low in _ODD:
        return _ODD[low]
    if low in ("true", "false"):
        return float(low == "true")
    if not cell or len(cell) > 200 or (cell[0].isalpha() and not cell.startswith(("tensor", "array", "np.", "jnp.", "Array"))):
        return None
    part = cell.split("/")
    try:
        if len(part) == 2 and part[1].strip().isdigit() and part[0].strip().isdigit():
            return float(part[0])  # 3/10: the third of ten
        if cell[-1] == "%":
            return float(cell[:-1])
        inside = _TENSOR.match(cell)
        if inside and (cell[0] in "tanjA[("):
            return _ODD[inside[1].lower()] if inside[1].lower() in _ODD else float(inside[1])
    except (ValueError, OverflowError):
        pass
    return None


def runs_of(table: Table, path: str, form: str, *, columns=None, files=None) -> list[LoggedRun]:
    """The runs in a table: one, or one per value of a column that names runs. columns: names of series to keep, or None for all."""
    files = files or (path,)
    split = _run_column(table)
    if split is None:
        return [_run(table, path, form, columns, files)]
    name, codes, labels = split
    found = []
    for code, label in enumerate(labels):
        part = _only(table, codes == code, without=name)
        if part.height:
            run = _run(part, f"{path}#{label}", form, columns, files)
            run.settings.setdefault(name, label)
            found.append(run)
    return found


def _run_column(table: Table):
    """(name, code of each row, labels) of a column that says which run a row belongs to."""
    for name, column in table.words.items():
        if (
            roles.short(name) in roles.RUNS
            and column.rows.size == table.height
            and 1 < len(column.labels) <= min(MOST_RUNS, table.height // 2)
            and column.codes.min() >= 0
        ):
            return name, column.codes, column.labels
    for name, column in table.numbers.items():
        if roles.short(name) in ("run", "run_id", "seed", "trial", "trial_id") and column.rows is None and table.height >= 4:
            values, codes = np.unique(column.values, return_inverse=True)
            if 1 < values.size <= min(MOST_RUNS, table.height // 3) and np.isfinite(values).all():
                return name, codes, [f"{name}={value:g}" for value in values]
    return None


def _only(table: Table, keep: np.ndarray, without: str) -> Table:
    """The rows where `keep` (one bool per row), renumbered."""
    place = np.cumsum(keep) - 1
    part = Table(int(keep.sum()), settings=dict(table.settings), warnings=list(table.warnings), unit=table.unit)
    for name, column in table.numbers.items():
        if name != without:
            rows = np.arange(table.height) if column.rows is None else column.rows
            mask = keep[rows]
            if mask.any():
                part.numbers[name] = Numbers(None if mask.sum() == part.height else place[rows[mask]], column.values[mask])
    for name, column in table.words.items():
        if name != without:
            mask = keep[column.rows]
            if mask.any():
                part.words[name] = Words(place[column.rows[mask]], column.codes[mask], column.labels)
    return part


@dataclass
class _Axes:
    """What each row counts. unit: of steps. Each of (height,), without gaps, or None."""

    steps: np.ndarray
    unit: str
    epochs: np.ndarray | None
    seconds: np.ndarray | None
    used: set[str]


def _run(table: Table, id: str, form: str, columns, files) -> LoggedRun:
    run = LoggedRun(id, form, tuple(files), {}, dict(table.settings), list(table.warnings))
    table = _by_metric(table)
    table = _by_phase(table)
    axes = _axes(table, run.warnings)
    wanted = None if columns is None else set(columns)
    for name, column in table.numbers.items():
        if name in axes.used or (wanted is not None and name not in wanted) or not column.values.size:
            continue
        rows = slice(None) if column.rows is None else column.rows
        steps, epochs, seconds = (None if axis is None else axis[rows] for axis in (axes.steps, axes.epochs, axes.seconds))
        run.series[name] = LoggedSeries(name, steps, column.values, axes.unit, epochs, seconds)
        if column.values.size > 2 and roles.rank(name, _KNOBS) is not None and bool((column.values == column.values[0]).all()):
            run.settings.setdefault(name, float(column.values[0]))
    _words(table, axes, run)
    return run


_KNOBS = (
    "lr", "learning_rate", "batch_size", "bs", "weight_decay", "wd", "momentum", "dropout", "seed", "hidden_size", "hidden", "layers", "n_layers",
    "num_layers", "depth", "width", "gamma", "beta", "optimizer", "warmup", "warmup_steps",
)


def _words(table: Table, axes: _Axes, run: LoggedRun) -> None:
    dropped = []
    for name, column in table.words.items():
        if name in axes.used:
            continue
        if len(column.labels) == 1 and column.codes.min() >= 0:
            if name not in table.numbers:
                run.settings.setdefault(name, column.labels[0])
                continue
            dropped.append(f"{name} ({column.rows.size} cells of text: {column.labels[0][:40]!r})")
        else:
            dropped.append(f"{name} ({'text' if name not in table.numbers else f'{column.rows.size} cells of text'}, as {column.labels[0][:40]!r})")
    if dropped:
        more = f" and {len(dropped) - 8} more" if len(dropped) > 8 else ""
        run.warnings.append(f"{run.id}: left out what is no number: {', '.join(dropped[:8])}{more}")


def _axes(table: Table, warnings: list[str]) -> _Axes:
    used: set[str] = set()
    epoch = _counter(table, roles.EPOCHS, used, whole=False)
    step = _counter(table, roles.STEPS, used)
    seconds = _clock(table, used)
    unit = table.unit or (("iteration" if "iter" in step[0].lower() else "step") if step else "")
    epochs = None if epoch is None else _filled(epoch[1])
    step = step if _moves(step) else None
    if step is None and not _moves(epoch):
        step = _counter(table, roles.EPISODES, used)
        unit = "episode"
    if _moves(step):
        steps = _filled(_without_asides(step[1], table.aside))
        steps = steps if epochs is None else _counted_on(step[0], steps, epochs, warnings)
    elif _moves(epoch):
        steps, unit = epochs, "epoch"
    else:
        steps, unit = np.arange(table.height, dtype=float), "row"
    return _Axes(steps, unit, epochs, seconds, used)


def _moves(counter, least: int = 3) -> bool:
    """Whether a column counts: not one that stands still (an epoch of 0 throughout), unless so few rows are all there is."""
    if counter is None:
        return False
    values = counter[1]
    if values.size > least and np.isfinite(values[0]) and np.isfinite(values[-1]) and values[0] != values[-1]:
        return True
    values = values[np.isfinite(values)]
    return values.size > 0 and (values.size < least or bool((values != values[0]).any()))


def _counter(table: Table, known: tuple[str, ...], used: set[str], *, whole: bool = True) -> tuple[str, np.ndarray] | None:
    """The best column of a kind; all of the kind that count are no curves. Best: in most rows, then first in the list."""
    found = []
    for name, column in table.numbers.items():
        place = roles.rank(name, known)
        if place is not None and name not in used and roles.counts(column.values, whole=whole):
            still = table.height > 1 and not _moves((name, column.values), least=2)
            found.append((column.values.size < 0.5 * table.height, still, place, name))
    used.update(name for *_, name in found)
    found = sorted(each for each in found if not each[1]) or sorted(found)[:1]  # one that stands still counts nothing, if another moves
    return (found[0][-1], table.numbers[found[0][-1]].at(table.height)) if found else None


def _clock(table: Table, used: set[str]) -> np.ndarray | None:
    """Seconds of each row: a column of time that runs on (a time per step is a curve)."""
    found = []
    for name, column in table.numbers.items():
        place = roles.rank(name, roles.SECONDS)
        if place is None or name in used:
            continue
        values = column.values[np.isfinite(column.values)]
        if values.size > 1 or place < 2:
            forward = np.diff(values)
            if place < 2 or (forward < 0).sum() <= 0.05 * values.size and (forward > 0).sum() >= 0.5 * forward.size:
                found.append((column.values.size < 0.5 * table.height, place, name))
    used.update(name for *_, name in found)
    if found:
        values = _filled(table.numbers[min(found)[-1]].at(table.height))
        return values / 1000 if values.size and values[-1] > 1e11 else values  # milliseconds since 1970
    for name, column in table.words.items():
        if roles.rank(name, roles.SECONDS) is not None and column.rows.size:
            times = np.array([np.nan if (t := moments.seconds(label)) is None else t for label in column.labels] + [np.nan])
            if np.isfinite(times[column.codes]).mean() > 0.9:
                used.add(name)
                spread = np.full(table.height, np.nan)
                spread[column.rows] = times[column.codes]
                return _filled(spread)
    return None


def _without_asides(steps: np.ndarray, aside: np.ndarray | None) -> np.ndarray:
    """NaN where a row counts something of its own: an evaluation's batches, or (mmengine) its epochs, between rows that count on."""
    if (
        aside is not None
        and aside.any()
        and not aside.all()
        and (np.diff(steps)[aside[1:]] < 0).any()
        and (np.diff(steps[~aside]) < 0).sum() <= (np.diff(steps) < 0).sum()
    ):
        return np.where(aside, np.nan, steps)
    drops = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    inner = drops[drops < steps.size - 1]
    if inner.size > 1 and bool((steps[inner + 1] >= steps[inner - 1]).all()):
        steps = steps.copy()
        steps[drops] = np.nan
    return steps


def _filled(values: np.ndarray) -> np.ndarray:
    """Gaps take the counter's last value (an evaluation row without a step belongs to the step before it); those before the first take the first."""
    if not values.size or np.isfinite(values.sum()):  # one pass: long columns have no gaps
        return values
    gaps = ~np.isfinite(values)
    if not gaps.any() or gaps.all():
        return values
    place = np.where(gaps, -1, np.arange(values.size))
    place = np.maximum.accumulate(place)
    place[place < 0] = np.flatnonzero(~gaps)[0]
    return values[place]


def _counted_on(name: str, steps: np.ndarray, epochs: np.ndarray, warnings: list[str]) -> np.ndarray:
    """Steps that start again in every epoch, counted on over the epochs; others as they are."""
    drops = np.flatnonzero(steps[1:] < steps[:-1])
    if not drops.size:
        return steps
    rises = np.diff(epochs) > 0
    if drops.size < 0.6 * rises.sum() or not rises[drops].all():
        return steps
    tops = np.maximum.reduceat(steps, np.r_[0, drops + 1])
    added = np.cumsum(tops[:-1] + (steps[drops + 1].min() == 0))
    warnings.append(f"{name} starts again in each epoch: counted on")
    return steps + np.r_[0, added][np.searchsorted(drops + 1, np.arange(steps.size), side="right")]


def _by_phase(table: Table) -> Table:
    """A column that says "train" or "val" for each row: one series for each phase."""
    for name, column in table.words.items():
        phases = [roles.phase_prefix(label) for label in column.labels]
        if roles.short(name) in roles.PHASE and phases and all(phases) and column.rows.size >= 0.5 * table.height and column.codes.min() >= 0:
            phase_of = np.full(table.height, -1)
            phase_of[column.rows] = column.codes
            spread = _spread(table, name, phase_of, phases, lambda metric, phase: roles.with_phase(metric, phase))
            spread.aside = np.array([phase != "train" for phase in phases] + [False])[phase_of]
            return spread
    return table


def _by_metric(table: Table) -> Table:
    """A long table, one row a value with its metric's name in a column: one series for each name."""
    values = [n for n in table.numbers if roles.short(n) in roles.VALUE]
    for name, column in table.words.items():
        if (
            values
            and roles.short(name) in roles.METRIC
            and column.rows.size >= 0.9 * table.height
            and 0 < len(column.labels) < LABELS
            and column.codes.min() >= 0
        ):
            which = np.full(table.height, -1)
            which[column.rows] = column.codes
            return _spread(table, name, which, column.labels, lambda metric, label: label, only=values[0])
    return table


def _spread(table: Table, by: str, code_of: np.ndarray, labels: list[str], named, only: str | None = None) -> Table:
    spread = Table(table.height, {}, {n: w for n, w in table.words.items() if n != by}, table.settings, table.warnings, table.unit)
    for metric, column in table.numbers.items():
        rows = np.arange(table.height) if column.rows is None else column.rows
        codes = code_of[rows]
        if roles.is_counter(metric) or (only is not None and metric != only):
            spread.numbers[metric] = column
            continue
        names: dict[str, list[int]] = {}
        for code in np.unique(codes).tolist():
            names.setdefault(metric if code < 0 else named(metric, labels[code]), []).append(code)
        for name, same in names.items():
            mask = np.isin(codes, same)
            spread.numbers[name] = Numbers(rows[mask], column.values[mask])
    return spread
