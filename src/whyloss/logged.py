"""A finished (or still written) run as its log tells it: named curves over steps. Readers make it, the reading judges it, no torch anywhere."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from whyloss.curves.outline import Outline


@dataclass(frozen=True)
class LoggedSeries:
    """One column of a log: the points that were written, in the order written. Blank cells are no points; NaN and Inf that were logged are.

    steps    (points,) float64: the log's own step counter, or the row number where it has none (`step_unit` says which: "step", "epoch", "row", ...)
    values   (points,) float64
    epochs   (points,) float64 or None: the epoch of each point, where the log tells
    seconds  (points,) float64 or None: wall-clock time of each point, where the log tells
    """

    name: str
    steps: np.ndarray
    values: np.ndarray
    step_unit: str = "step"
    epochs: np.ndarray | None = None
    seconds: np.ndarray | None = None

    def __len__(self) -> int:
        return self.values.size

    @cached_property
    def outline(self) -> Outline:
        return Outline(self.steps, self.values)


@dataclass
class LoggedRun:
    """One run of one log. id: the path as the user would write it, with "#name" where one file holds several runs."""

    id: str
    format: str                                     # "csv", "jsonl", "trainer_state.json", "TensorBoard events", ...
    files: tuple[Path | str, ...] = ()
    series: dict[str, LoggedSeries] = field(default_factory=dict)
    settings: dict = field(default_factory=dict)    # hyperparameters as logged: name -> number or text
    warnings: list[str] = field(default_factory=list)   # what was skipped and why, with file and line
