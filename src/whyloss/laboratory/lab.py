"""The laboratory: runs an experiment by name on the captured program and writes what happened as observations."""

import importlib
import math
import pkgutil

from whyloss.errors import CannotReplay, UnknownName
from whyloss.evidence import Evidence
from whyloss.finding import Trial
from whyloss.laboratory.names import EXPERIMENTS
from whyloss.laboratory.sandbox import Plan, Rehearsal, untouched
from whyloss.observation import Run
from whyloss.sources import clock
from whyloss.sources.program import Program

STEPS = 240           # iterations of one arm at most
ARM_SECONDS = 4.0     # time of one arm at most


class Laboratory:
    """Experiments on one captured program.

    budget    seconds for all experiments together
    progress  called with (experiment, done, total) as arms train; None for silence
    """

    def __init__(self, program: Program, evidence: Evidence, *, budget: float = 60.0, progress=None):
        self.program, self.evidence, self.budget = program, evidence, budget
        self.progress = progress
        self.spent = 0.0
        self.main = evidence.fact("main_loss_place")
        self.problem = program.ready()
        if self.problem is None:
            with untouched():
                self.problem = program.check_faithful()
        self.small = sum(p.numel() for p in program.leaves.values()) < 2_000_000
        self.controls: dict = {}
        self.base: Plan | None = None     # the repair of the principal cause, once another one is looked for
        self.plans: dict[str, Plan] = {}  # the last changed plan of each experiment
        self.cache: dict = {}
        self.failures: dict[str, str] = {}

    # ------------------------------------------------------------------ running
    def possible(self) -> str | None:
        """None if experiments can be run, else why not."""
        if self.problem:
            return self.problem
        return None if self.spent < self.budget else f"the budget of {self.budget:g} s is used up"

    def run(self, experiment: str, asks: dict | None = None) -> dict | None:
        """Run one experiment; observations go to a run of its name. -> its outcome, or None with a reason in `failures`.

        Raises UnknownName for a name that is no experiment.
        """
        if experiment not in EXPERIMENTS:
            raise UnknownName("experiment", experiment, EXPERIMENTS)
        key = (experiment, repr(sorted((asks or {}).items())))
        if key in self.cache:
            return self.cache[key]
        reason = self.possible()
        if reason:
            self.failures[experiment] = reason
            return None
        function = REGISTRY.get(experiment)
        if function is None:
            self.failures[experiment] = "there is no such experiment yet"
            return None
        began = clock.now()
        self.evidence.add_run(Run(experiment, "experiment", "main"))
        try:
            with untouched(one_thread=self.small):
                outcome = function(self, asks or {})
        except CannotReplay as error:
            outcome, self.failures[experiment] = None, str(error)
        except Exception as error:
            outcome, self.failures[experiment] = None, f"{type(error).__name__}: {error}"
        self.spent += clock.now() - began
        self.cache[key] = outcome
        return outcome

    def deadline(self, seconds: float = ARM_SECONDS) -> float:
        return clock.now() + max(0.3, min(seconds, self.budget - self.spent))

    def train(self, name: str, plan: Plan, *, steps: int = STEPS, seconds: float = ARM_SECONDS, arm=None) -> list[float]:
        """Train one arm. -> its main losses by iteration."""
        plan = plan if self.base is None else plan.over(self.base)
        if name != "control":
            self.plans[name] = plan
        rehearsal = Rehearsal(self.program, plan, self.main, arm=arm)
        tick = (lambda done, total: self.progress(name, done, total)) if self.progress else None
        return rehearsal.train(steps, self.deadline(seconds), tick)

    def control(self, plan: Plan | None = None, *, steps: int = STEPS) -> list[float]:
        """The unchanged arm: the user's own loop, optimizer and settings. Trained once, compared many times."""
        key = steps
        if plan is not None:
            return self.train("control", plan, steps=steps)
        if key not in self.controls:
            self.controls[key] = self.train("control", Plan(), steps=steps)
        return self.controls[key]

    def adopt(self, experiment: str) -> bool:
        """Go on with the repair of this experiment in every arm, so that a second fault shows. False if there is none to go on with."""
        if self.base is not None or experiment not in self.plans or self.possible():
            return False
        self.base = self.plans[experiment]
        self.controls, self.cache = {}, {}
        return True

    # ------------------------------------------------------------------ outcomes
    def paired(self, experiment: str, change: str, control: list[float], changed: list[float], **facts) -> dict:
        """Write both arms as observations and return the outcome of a paired experiment."""
        length = min(len(control), len(changed)) if math.isfinite((control or [0])[-1]) and math.isfinite((changed or [0])[-1]) else None
        control, changed = (control[:length], changed[:length]) if length else (control, changed)
        self.clear(experiment)
        for arm, losses in (("control", control), ("changed", changed)):
            for step, value in enumerate(losses):
                self.evidence.add("loss", value, step=step, run=f"{experiment}/{arm}")
        for quantity, value in facts.items():
            self.evidence.add(quantity, value, run=experiment)
        return {"experiment": experiment, "change": change, "control": control, "changed": changed, **facts}

    def clear(self, experiment: str) -> None:
        """Forget an earlier run of the same experiment (with other parameters)."""
        for key in [k for k in self.evidence._columns if k[0] == experiment or k[0].startswith(f"{experiment}/")]:
            del self.evidence._columns[key]

    def trial(self, outcome: dict, holds: bool) -> Trial:
        import numpy as np

        from whyloss.cause import tail

        control, changed = outcome.get("control", []), outcome.get("changed", [])
        before = outcome.get("before", tail(np.array(control)) if control else math.nan)
        after = outcome.get("after", tail(np.array(changed)) if changed else math.nan)
        return Trial(outcome["experiment"], float(before), float(after), max(len(control), len(changed)) or outcome.get("steps", 0),
                     holds, outcome.get("change", ""), {"before": thin(control), "after": thin(changed)})


def thin(values: list[float], points: int = 120) -> list[float]:
    """At most `points` values, evenly chosen, first and last kept."""
    if len(values) <= points:
        return [round(v, 6) if math.isfinite(v) else v for v in values]
    picks = sorted({round(i * (len(values) - 1) / (points - 1)) for i in range(points)})
    return [round(values[i], 6) if math.isfinite(values[i]) else values[i] for i in picks]


REGISTRY: dict = {}


def experiment(name: str):
    """Register a function (lab, asks) -> outcome under an experiment's name."""
    if name not in EXPERIMENTS:
        raise UnknownName("experiment", name, EXPERIMENTS)

    def register(function):
        REGISTRY[name] = function
        return function
    return register


def _scan() -> None:
    from whyloss.laboratory import experiments
    for info in pkgutil.iter_modules(experiments.__path__):
        importlib.import_module(f"{experiments.__name__}.{info.name}")


def open_laboratory(program: Program, evidence: Evidence, **settings) -> Laboratory:
    """A laboratory with every experiment registered."""
    _scan()
    return Laboratory(program, evidence, **settings)
