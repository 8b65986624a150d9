"""All observations of a diagnosis, by column. Judges only read it; sources and experiments only add to it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyloss.observation import Observation, Run


@dataclass(frozen=True)
class Series:
    """One quantity of one subject over the steps, in the order observed."""

    run: str
    quantity: str
    subject: str
    steps: list[int]
    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __iter__(self) -> Iterator[Observation]:
        for step, value in zip(self.steps, self.values):
            yield Observation(self.run, self.quantity, self.subject, step, value)

    @property
    def first(self) -> Observation:
        return Observation(self.run, self.quantity, self.subject, self.steps[0], self.values[0])

    @property
    def last(self) -> Observation:
        return Observation(self.run, self.quantity, self.subject, self.steps[-1], self.values[-1])

    def at(self, step: int) -> Any:
        """The first value taken at `step`, or None."""
        for known, value in zip(self.steps, self.values):
            if known == step:
                return value
        return None

    def array(self) -> np.ndarray:
        """The values as float64; what is no number becomes NaN. -> (points,)"""
        return np.array([v if isinstance(v, (int, float)) else math.nan for v in self.values], dtype=float)

    def finite(self) -> "Series":
        """Up to the first non-finite value: comparing with NaN is always false, so no judge may see it."""
        bad = np.flatnonzero(~np.isfinite(self.array()))
        end = int(bad[0]) if len(bad) else len(self.values)
        return Series(self.run, self.quantity, self.subject, self.steps[:end], self.values[:end])

    def first_non_finite(self) -> int | None:
        """The step of the first NaN or Inf, or None."""
        bad = np.flatnonzero(~np.isfinite(self.array()))
        return self.steps[int(bad[0])] if len(bad) else None


class Evidence:
    """Columns of observations, keyed by run, quantity and subject."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str, str], Series] = {}
        self.runs: dict[str, Run] = {}

    def add_run(self, run: Run) -> Run:
        self.runs[run.id] = run
        return run

    def add(self, quantity: str, value: Any, *, subject: str = "run", step: int = 0, run: str = "main") -> None:
        """Append one observation."""
        key = (run, quantity, subject)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = Series(run, quantity, subject, [], [])
            if run not in self.runs:
                self.runs[run] = Run(run)
        column.steps.append(step)
        column.values.append(value)

    def add_row(self, step: int, values: dict[str, Any], *, subject: str = "run", run: str = "main") -> None:
        """Append several quantities of one subject at one step."""
        for quantity, value in values.items():
            self.add(quantity, value, subject=subject, step=step, run=run)

    def series(self, quantity: str, subject: str = "run", run: str = "main") -> Series:
        """One column; empty (and false) when nothing was observed."""
        return self._columns.get((run, quantity, subject)) or Series(run, quantity, subject, [], [])

    def by_subject(self, quantity: str, run: str = "main") -> dict[str, Series]:
        """Every subject's column of one quantity, in the order first seen."""
        return {s: c for (r, q, s), c in self._columns.items() if r == run and q == quantity}

    def fact(self, quantity: str, subject: str = "run", run: str = "main", default: Any = None) -> Any:
        """The latest value of a quantity that does not change, or `default`."""
        column = self.series(quantity, subject, run)
        return column.values[-1] if column else default

    def has(self, quantity: str, run: str = "main") -> bool:
        return any(r == run and q == quantity for (r, q, _s) in self._columns)

    def columns(self) -> Iterator[tuple[tuple[str, str, str], Series]]:
        """((run, quantity, subject), column) of everything observed."""
        return iter(list(self._columns.items()))

    def copy(self) -> "Evidence":
        """The same observations, to which more can be added without changing these."""
        twin = Evidence()
        twin.runs = dict(self.runs)
        twin._columns = {key: Series(*key, list(c.steps), list(c.values)) for key, c in self._columns.items()}
        return twin

    def until(self, step: int) -> "Evidence":
        """A view of what was known before `step` (exclusive)."""
        earlier = Evidence()
        earlier.runs = dict(self.runs)
        for (run, quantity, subject), column in self._columns.items():
            for at, value in zip(column.steps, column.values):
                if at < step:
                    earlier.add(quantity, value, subject=subject, step=at, run=run)
        return earlier

    def __iter__(self) -> Iterator[Observation]:
        for column in self._columns.values():
            yield from column

    def __len__(self) -> int:
        return sum(len(c) for c in self._columns.values())
