"""The report every way in ends with: data only. Renderers show it, other programs rely on it."""

from dataclasses import dataclass, field
from importlib import import_module

from whyloss.check import Examination
from whyloss.finding import Finding

SCHEMA = 1


@dataclass(frozen=True)
class Curve:
    """One series that was read as a loss, validation loss or metric, with its principal label first."""

    series: str
    quantity: str
    label: str
    detail: str = ""
    also: tuple[str, ...] = ()
    run: str = "main"
    file: str | None = None
    turning_step: int | None = None
    first_bad_step: int | None = None
    steps: tuple = ()
    values: tuple = ()
    segments: tuple = ()  # (first step, last step, name) of stretches of the curve
    events: tuple = ()  # steps of spikes

    def as_dict(self) -> dict:
        return {"run": self.run, "file": self.file, "series": self.series, "quantity": self.quantity,
                "label": self.label, "also": list(self.also), "detail": self.detail,
                "turning_step": self.turning_step, "first_bad_step": self.first_bad_step,
                "segments": [list(s) for s in self.segments], "events": list(self.events),
                "points": {"steps": list(self.steps), "values": list(self.values)}}


@dataclass(frozen=True)
class PathStep:
    """One stage of the walk and how it ended."""

    stage: str
    outcome: str
    detail: str = ""

    def as_dict(self) -> dict:
        return {"stage": self.stage, "outcome": self.outcome, "detail": self.detail}


@dataclass(frozen=True)
class Layer:
    """One row of the per-layer table: the first and the last value seen of each quantity; None where not seen."""

    name: str
    kind: str
    shape_in: str = ""
    shape_out: str = ""
    values: dict = field(default_factory=dict)

    def as_dict(self) -> dict:
        return {"name": self.name, "kind": self.kind, "in": self.shape_in, "out": self.shape_out, **self.values}


@dataclass(frozen=True)
class Grid:
    """One quantity of several subjects at the same steps, thinned for drawing. values: (subjects, steps); None where nothing was seen.

    seen  how many steps and subjects there were before thinning
    """

    quantity: str
    subjects: tuple = ("run",)
    steps: tuple = ()
    values: tuple = ()
    run: str = "main"
    seen: tuple = (0, 0)

    def as_dict(self) -> dict:
        return {"run": self.run, "quantity": self.quantity, "subjects": list(self.subjects), "steps": list(self.steps),
                "values": [list(row) for row in self.values], "seen": list(self.seen)}


@dataclass(frozen=True)
class Report:
    """Verdict, findings (principal cause first), everything examined, the path, and what it cost."""

    verdict: str
    findings: tuple[Finding, ...] = ()
    curves: tuple[Curve, ...] = ()
    examinations: tuple[Examination, ...] = ()
    path: tuple[PathStep, ...] = ()
    runs: tuple = ()
    layers: tuple[Layer, ...] = ()
    summary: str = ""
    not_examined: tuple[str, ...] = ()
    budget: dict = field(default_factory=dict)
    seconds: float = 0.0
    versions: dict = field(default_factory=dict)
    script: str | None = None
    grids: tuple[Grid, ...] = ()

    def plot(self, name: str, path=None):
        """The figure `name` ("gradient-flow", ...) as a Matplotlib figure, also written to `path` (.png, .svg, .pdf) if given.

        Raises UnknownName with the nearest names, NotEnoughEvidence where this report has nothing to draw, BadInput without Matplotlib.
        """
        return import_module("whyloss.render.picture").plot(self, name, path)  # by name: the noun does not depend on who draws it

    @property
    def cause(self) -> Finding | None:
        """The principal finding, if it is proven or confirmed."""
        return self.findings[0] if self.findings and self.findings[0].sure else None

    def as_dict(self) -> dict:
        """The stable form (see docs/report.md); numbers may be non-finite, render/json makes them strings."""
        return {"schema": SCHEMA, "verdict": self.verdict, "summary": self.summary,
                "findings": [f.as_dict() for f in self.findings], "curves": [c.as_dict() for c in self.curves],
                "examinations": [e.as_dict() for e in self.examinations], "path": [p.as_dict() for p in self.path],
                "not_examined": list(self.not_examined), "layers": [layer.as_dict() for layer in self.layers],
                "runs": [r.as_dict() for r in self.runs], "budget": self.budget, "seconds": self.seconds,
                "versions": self.versions, "script": self.script, "grids": [g.as_dict() for g in self.grids]}

    @classmethod
    def from_dict(cls, data: dict) -> "Report":
        """The inverse of as_dict, for reports read back from JSON."""
        from whyloss.finding import Location, Trial
        from whyloss.observation import Run

        def finding(d):
            d = dict(d)
            where, trial = d.pop("location"), d.pop("trial")
            return Finding(location=Location(**where) if where else None, trial=Trial(**trial) if trial else None,
                           **{k: tuple(v) if isinstance(v, list) else v for k, v in d.items()})

        def curve(d):
            d = dict(d)
            points = d.pop("points", {"steps": (), "values": ()})
            d |= {key: tuple(tuple(v) if isinstance(v, list) else v for v in d.get(key, ())) for key in ("also", "segments", "events")}
            return Curve(**d, steps=tuple(points["steps"]), values=tuple(points["values"]))

        def layer(d):
            d = dict(d)
            return Layer(d.pop("name"), d.pop("kind"), d.pop("in"), d.pop("out"), d)

        def grid(d):
            return Grid(**{**d, "values": tuple(map(tuple, d["values"])), **{k: tuple(d[k]) for k in ("subjects", "steps", "seen")}})

        return cls(verdict=data["verdict"], findings=tuple(map(finding, data["findings"])),
                   curves=tuple(map(curve, data["curves"])),
                   examinations=tuple(Examination(**e) for e in data["examinations"]),
                   path=tuple(PathStep(**p) for p in data["path"]), layers=tuple(map(layer, data.get("layers", []))),
                   runs=tuple(Run(**r) for r in data.get("runs", [])), summary=data.get("summary", ""),
                   not_examined=tuple(data.get("not_examined", [])), budget=data.get("budget", {}),
                   seconds=data.get("seconds", 0.0), versions=data.get("versions", {}), script=data.get("script"),
                   grids=tuple(map(grid, data.get("grids", []))))
