"""One fact about a training: which run, which quantity, of what, when, and the value."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of one quantity.

    subject  "run", a module or parameter ("layers.0.weight"), or a place in the user's code ("train.py:23")
    step     optimizer steps done before it was taken; 0 = nothing was updated yet
    value    a number or a small JSON value, never a tensor; NaN allowed
    """

    run: str
    quantity: str
    subject: str
    step: int
    value: Any


@dataclass(frozen=True)
class Run:
    """Where observations come from.

    origin  "watched", "probed", "read" or "experiment"; an experiment names the run it was made from as its parent.
    """

    id: str = "main"
    origin: str = "watched"
    parent: str | None = None
    step_unit: str = "optimizer step"
    settings: dict = field(default_factory=dict)

    def as_dict(self) -> dict:
        return {"id": self.id, "origin": self.origin, "parent": self.parent, "step_unit": self.step_unit,
                "settings": self.settings}
