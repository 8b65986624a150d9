"""A cause of bad training: what it is, why it happens, what its experiment must show, how to repair it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whyloss.evidence import Evidence

FAMILIES = ("loop", "graph", "loss", "init", "activation", "rate", "data", "shape", "sequence", "numerics", "mode",
            "capacity", "distributed")


def tail(losses: np.ndarray, share: float = 0.2) -> float:
    """Median of the last fifth (at least 5 points): robust to batch noise. A run that ends non-finite ends at infinity."""
    losses = np.where(np.isfinite(losses), losses, np.inf)
    if len(losses) and not np.isfinite(losses[-1]):
        return np.inf
    return float(np.median(losses[-max(5, int(len(losses) * share)):])) if len(losses) else np.inf


def remedy_wins(evidence: Evidence, run: str, *, share: float = 0.25) -> bool:
    """True if the changed arm ends clearly below the unchanged one, from the same start on the same batches.

    Clearly: by a quarter of the way from the control's end to the floor, by 2 % of the start, and by three standard
    errors of the tails; and the changed arm itself went down. (A plain before/after lies: training goes on improving.)
    """
    control = evidence.series("loss", run=f"{run}/control").array()
    changed = evidence.series("loss", run=f"{run}/changed").array()
    if not len(control) or not len(changed):
        return False
    before, after = tail(control), tail(changed)
    if not np.isfinite(after):
        return False
    if not np.isfinite(before):
        return bool(after < np.median(changed[: max(1, len(changed) // 20)]) or after < 1e-6)
    floor = float(evidence.fact("floor", run=run, default=0.0))
    start = float(np.median(changed[: max(1, len(changed) // 50)]))
    spread = [np.std(arm[-max(5, len(arm) // 5):]) / np.sqrt(max(5, len(arm) // 5)) for arm in (control, changed)]
    gain = before - after
    enough = gain >= share * max(before - floor, 0.0) and gain >= 0.02 * abs(start) and gain > 3 * float(np.hypot(*spread))
    return bool(enough and (after < start or after < 0.5 * before))


@dataclass(frozen=True)
class Prediction:
    """What the cause says an experiment will show.

    experiment  name in the laboratory
    shows       one sentence for the reader
    holds       pure function (evidence, run of that experiment) -> did it happen?
    """

    experiment: str
    shows: str
    holds: Callable[[Evidence, str], bool] = remedy_wins


@dataclass(frozen=True)
class Cause:
    """One entry of the catalogue; ids are stable and listed in the documentation."""

    id: str
    family: str
    title: str
    meaning: str
    why: str
    remedies: tuple[str, ...]
    source: str
    prediction: Prediction | None = None

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"{self.id}: family {self.family!r} is none of {', '.join(FAMILIES)}")
