"""What a check concludes: one cause, how sure, where, the numbers, and the experiment that decided."""

from dataclasses import dataclass, field, replace
from typing import Any

STATUSES = ("proven", "confirmed", "suspected", "note")


@dataclass(frozen=True)
class Location:
    """A line of the user's code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Trial:
    """The experiment of a finding: same start, same batches, one change.

    before  what the unchanged run (the control arm) reached      after  what the changed run reached
    curves  {"before": [...], "after": [...]} losses by step, for the chart
    """

    experiment: str
    before: float
    after: float
    steps: int
    holds: bool
    change: str = ""
    curves: dict = field(default_factory=dict)

    def as_dict(self) -> dict:
        return {"experiment": self.experiment, "before": self.before, "after": self.after, "steps": self.steps,
                "holds": self.holds, "change": self.change, "curves": self.curves}


@dataclass(frozen=True)
class Finding:
    """One cause, with where it was seen, what was measured and what was expected.

    explains  symptoms that this cause accounts for (curve labels and the like)
    remedies  concrete for this training; the catalogue's general ones are used where none is given
    asks      parameters of the experiment that would decide a suspicion
    """

    cause: str
    status: str = "suspected"
    subject: str | None = None
    step: int | None = None
    location: Location | None = None
    measured: str = ""
    expected: str = ""
    message: str = ""
    remedies: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    trial: Trial | None = None
    asks: dict[str, Any] = field(default_factory=dict)
    check: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status {self.status!r} is none of {', '.join(STATUSES)}")

    @property
    def sure(self) -> bool:
        return self.status in ("proven", "confirmed")

    def with_trial(self, trial: Trial, status: str) -> "Finding":
        return replace(self, trial=trial, status=status)

    def as_dict(self) -> dict:
        where = {"file": self.location.file, "line": self.location.line} if self.location else None
        return {"cause": self.cause, "status": self.status, "subject": self.subject, "location": where,
                "step": self.step, "measured": self.measured, "expected": self.expected, "message": self.message,
                "remedies": list(self.remedies), "explains": list(self.explains), "cites": list(self.cites),
                "check": self.check, "trial": self.trial.as_dict() if self.trial else None}
