"""A check: a pure function from evidence to findings. Its docstring is its public page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from whyloss.evidence import Evidence
from whyloss.finding import Finding, Location


@dataclass(frozen=True)
class Need:
    """What a check must have before it may judge. A check whose needs are not met is unexamined, not healthy.

    subject  None = any subject will do      points  at least so many observations
    at       a step that must be among them
    """

    quantity: str
    subject: str | None = None
    points: int = 1
    at: int | None = None

    def lacking(self, evidence: Evidence, run: str) -> str | None:
        """None if met, else a sentence saying what is missing."""
        columns = evidence.by_subject(self.quantity, run)
        if self.subject is not None:
            columns = {s: c for s, c in columns.items() if s == self.subject}
        if not columns:
            return f"no {self.quantity!r} was observed"
        most = max(len(c) for c in columns.values())
        if most < self.points:
            return f"{self.quantity!r} has {most} points, {self.points} are needed"
        if self.at is not None and not any(self.at in c.steps for c in columns.values()):
            return f"{self.quantity!r} was not observed at step {self.at}"
        return None


@dataclass(frozen=True)
class Check:
    """Base of every check. Fields of a subclass are its thresholds, with defaults.

    stage     the stage of the fixed order it belongs to      isolates  what is known when it finds nothing
    needs     what it must have                               causes    ids it can name (for documentation)
    """

    stage: ClassVar[str] = ""
    needs: ClassVar[tuple[Need, ...]] = ()
    isolates: ClassVar[str] = ""
    causes: ClassVar[tuple[str, ...]] = ()

    def judge(self, evidence: Evidence, run: str) -> Iterator[Finding]:
        raise NotImplementedError(f"{type(self).__name__} does not judge")

    @classmethod
    def id(cls) -> str:
        """The file's name is the id: gradients_not_cleared -> gradients-not-cleared."""
        return cls.__module__.rsplit(".", 1)[-1].replace("_", "-")

    def _find(self, status: str, cause: str, **facts) -> Finding:
        where = facts.pop("location", None)
        if isinstance(where, str) and ":" in where:
            file, line = where.rsplit(":", 1)
            where = Location(file, int(line))
        return Finding(cause=cause, status=status, location=where, check=self.id(), **facts)

    def prove(self, cause: str, **facts) -> Finding:
        """A finding that follows from facts seen, with no statistics."""
        return self._find("proven", cause, **facts)

    def suspect(self, cause: str, **facts) -> Finding:
        """A finding that an experiment must decide."""
        return self._find("suspected", cause, **facts)

    def note(self, cause: str, **facts) -> Finding:
        """True and worth knowing, not the cause of bad training."""
        return self._find("note", cause, **facts)


@dataclass(frozen=True)
class Examination:
    """What became of one check on one run: healthy, finding or unexamined (and why)."""

    check: str
    run: str
    outcome: str
    stage: str = ""
    findings: tuple[Finding, ...] = field(default=())
    reason: str | None = None

    def as_dict(self) -> dict:
        return {"check": self.check, "run": self.run, "stage": self.stage, "outcome": self.outcome, "reason": self.reason}
