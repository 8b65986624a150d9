"""One logged run judged: its label, each curve's label, what was noticed, and the single check to run next."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from whyloss.curves import CurveReading, read_curve, read_pair
from whyloss.diagnosis.reading import signs
from whyloss.diagnosis.reading.advice import Advice, advise
from whyloss.diagnosis.reading.facts import along, as_hidden, baseline_of, cleaned, main_rate, no_loss_curve, placed, rate_at
from whyloss.diagnosis.reading.remarks import remarks
from whyloss.diagnosis.reading.roles import Roles, roles
from whyloss.diagnosis.reading.whole import late_start, whole_label
from whyloss.diagnosis.reading.zeros import without_blanks
from whyloss.logged import LoggedRun, LoggedSeries

LONG = 1 << 20  # points of a curve
BROKEN = {"flat-from-start", "flat-at-baseline", "diverged", "non-finite", "plateau-high", "oscillating", "overfitting", "underfitting"}
SURE = 0.5  # confidence below which a level that may be high is no fault: where nothing is known of what the task allows


def is_broken(label: str, confidence: float) -> bool:
    """Whether a run with this label did not end well."""
    return label in BROKEN and not (label == "plateau-high" and confidence < SURE)


@dataclass(frozen=True)
class RunReading:
    """What one run shows. Steps are the log's own (`step_unit`); confidence 0..1 is that of the label, which is a symptom and never a cause.

    curves, pairs  label of each loss curve, and of each (training, validation) pair
    remarks        what else was noticed, one sentence each
    judged         the series that the steps belong to
    """

    id: str
    label: str
    also: tuple[str, ...] = ()
    detail: str = ""
    confidence: float = 0.0
    turning_step: int | None = None
    first_bad_step: int | None = None
    step_unit: str = "step"
    judged: LoggedSeries | None = None
    roles: Roles = field(default_factory=Roles)
    curves: dict[str, CurveReading] = field(default_factory=dict)
    pairs: dict[tuple[str, str], CurveReading] = field(default_factory=dict)
    spikes: dict[str, signs.Spikes] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    baseline: float | None = None
    advice: Advice | None = None
    run: LoggedRun | None = None

    @property
    def broken(self) -> bool:
        """The run did not end well. Spikes that heal and drops at planned cuts of the rate are symptoms, yet the run works."""
        return is_broken(self.label, self.confidence)

    def as_dict(self) -> dict:
        """Plain values, for JSON; the points of the curves are left out."""
        kept = ("id", "label", "also", "detail", "confidence", "turning_step", "first_bad_step", "step_unit", "remarks", "baseline")
        return {name: getattr(self, name) for name in kept} | {
            "judged": self.judged.name if self.judged is not None else None,
            "curves": {name: asdict(c) for name, c in self.curves.items()},
            "pairs": [{"training": a, "validation": b} | asdict(c) for (a, b), c in self.pairs.items()],
            "advice": asdict(self.advice) if self.advice else None,
        }

    def lines(self) -> list[str]:
        """The reading as plain sentences, the label first."""
        head = f"{self.label}: {self.detail}" if self.detail else self.label
        told = [head, *(f"{name}: {c.label}, {c.detail}" for name, c in self.curves.items()), *self.remarks]
        return told + (self.advice.lines() if self.advice else [])


@np.errstate(all="ignore")  # a log may hold 1e300 and infinities; the rules compare, and no warning helps its reader
def read_run(
    run: LoggedRun,
    *,
    loss: str | None = None,
    val: str | None = None,
    x: str | None = None,
    loss_name: str | None = None,
    classes: int | None = None,
    baseline: float | None = None,
    floor: float | None = None,
) -> RunReading:
    """Judge a run. loss, val, x: columns the user names; loss_name ("cross-entropy", ...) with classes gives the baseline ln C, in nats;
    baseline: loss of the best constant guess; floor: lowest loss that can be reached. Raises UnknownName for a column that does not exist."""
    run = placed(along(run, x) if x else run)
    found = roles(run, loss=loss, val=val)
    baseline, known = baseline_of(run, loss_name, classes, baseline)
    hidden, series = cleaned(run, found)
    rate, stated = main_rate(run, found), {"baseline": baseline, "floor": floor}

    @np.errstate(all="ignore")  # holds for one thread
    def judge(name: str) -> CurveReading:
        s, known = series[name], stated if name in (found.train, *found.validation) else {}
        reading = read_curve(s.steps, s.values, learning_rate=rate_at(rate, s), outline=s.outline, **known)
        return as_hidden(reading, s, hidden[name]) if name in hidden else reading

    curves = dict(zip(series, _each(judge, series)))
    for name, why in found.no_losses.items():
        curves[name] = no_loss_curve(without_blanks(run.series[name]), why)
    pairs = _pairs(found, series, curves)
    label, judged = late_start(*whole_label(run, found, series, curves, pairs))
    # a validation loss that rises past its start "diverged" by itself; beside its training loss it shows overfitting
    curves |= {validation: pair for (_, validation), pair in pairs.items() if pair.label == "overfitting"}
    norms, scales = ([run.series[n] for n in names] for names in (found.gradient_norms, found.loss_scales))
    beside = {"gradient_norms": norms, "loss_scales": scales, "learning_rate": rate}
    spiked = {n: signs.spikes(series[n], c.events, **beside) for n, c in curves.items() if c.events and n in series}
    told = RunReading(
        run.id, label.label, label.also, label.detail, label.confidence, label.turning_step, label.first_bad_step,
        step_unit=judged.step_unit if judged is not None else "step", judged=judged, roles=found, curves=curves, pairs=pairs, spikes=spiked,
        remarks=tuple(remarks(run, found, series, curves, spiked, known)), baseline=baseline, run=run,
    )  # fmt: skip
    return replace(told, advice=advise(told))


def _each(judge, series: dict[str, LoggedSeries]) -> list[CurveReading]:
    """The judgement of every curve; of long ones two at a time, for numpy lets go of the interpreter while it works on an array."""
    if len(series) < 2 or max(len(s) for s in series.values()) < LONG:
        return [judge(name) for name in series]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(judge, series))


def _pairs(found: Roles, series: dict[str, LoggedSeries], curves: dict[str, CurveReading]) -> dict[tuple[str, str], CurveReading]:
    """Each validation loss with its training partner, both over their own steps."""
    pairs = {}
    for train, validation in found.pairs:
        if train in series and validation in series:
            a, b = series[train], series[validation]
            known = {"fit": curves[train], "check": curves[validation], "outlines": (a.outline, b.outline)}
            pairs[train, validation] = read_pair(a.steps, a.values, b.steps, b.values, **known)
    return pairs
