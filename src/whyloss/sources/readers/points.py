"""Curves that are stored one by one, each with its own steps: event files, metric stores."""

from array import array

import numpy as np

from whyloss.logged import LoggedRun, LoggedSeries
from whyloss.sources.readers import roles


class Points:
    """Points by the name of their curve, in the order written."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[array, array, array]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, name: str, step: float, value: float, seconds: float = 0.0) -> None:
        steps, values, times = self._held.setdefault(name, (array("d"), array("d"), array("d")))
        steps.append(step)
        values.append(value)
        times.append(seconds)

    def run(self, id: str, form: str, files, *, settings=None, warnings=None, columns=None) -> LoggedRun:
        """The run; a curve named "epoch" (Lightning writes one) gives the others their epochs."""
        run = LoggedRun(id, form, tuple(files), {}, dict(settings or {}), list(warnings or []))
        epochs = next((self._held[name] for name in self._held if roles.rank(name, roles.EPOCHS) is not None and len(self._held) > 1), None)
        for name, held in self._held.items():
            if held is epochs or (columns is not None and name not in columns):
                continue
            steps, values, times = (np.frombuffer(part) for part in held)
            unit = "step"
            if steps.size > 1 and not steps.any():  # logged without a step: the store writes 0
                steps, unit = np.arange(steps.size, dtype=float), "row"
            run.series[name] = LoggedSeries(
                name, steps, values, unit, None if unit == "row" else _epochs(steps, epochs), times if times.any() else None
            )
        return run


def _epochs(steps: np.ndarray, epochs) -> np.ndarray | None:
    """The epoch at each step: that of the next point of the epochs' own curve, which is written at the end of its epoch."""
    if epochs is None:
        return None
    at, values = np.frombuffer(epochs[0]), np.frombuffer(epochs[1])
    order = np.argsort(at, kind="stable")
    return values[order][np.clip(np.searchsorted(at[order], steps, side="left"), 0, at.size - 1)]
