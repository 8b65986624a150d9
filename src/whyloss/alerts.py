"""A stream of measurements in, alerts out, each judged against the run's own past. Pure: no torch, no clock, nothing printed.

A false alarm costs more than a miss. So nothing absolute is a reason: a level must be far beyond everything the run itself
has shown, for several samples in a row, and each alert is raised once for each thing it is about.
"""

import math
from collections import deque
from dataclasses import asdict, dataclass, replace
from statistics import median

import numpy as np

# What is often seen in healthy trainings: shown beside the numbers, never a reason for an alert.
GUIDES = {
    "update_ratio": (1e-4, 1e-2, "about 1e-3; Karpathy's rule of thumb, with the true change"),
    "activation_std": (0.1, 10.0, "about 1 behind normalisation and good initialisation"),
    "dead_share": (0.0, 0.5, "a ReLU layer loses some units; most of them is too many"),
    "active_share": (0.05, 0.95, "about half of a ReLU layer's entries at the start"),
}


@dataclass(frozen=True)
class Alert:
    """Something a training's owner should hear of while it runs.

    kind     what it is, an id        subject  "run", a parameter or a module
    value    the number that shows it, and `expected` what the run itself made one expect
    """

    kind: str
    step: int
    subject: str
    value: float
    expected: str
    message: str

    def as_dict(self) -> dict:
        return asdict(self)

    def saying(self, more: str) -> "Alert":
        """The same alert; its message goes on."""
        return replace(self, message=f"{self.message}; {more}") if more else self


class StopTraining(Exception):
    """Raised at the first non-finite loss or gradient, only where that was asked for. The weights are those before it. alert: what was seen."""

    def __init__(self, alert: Alert):
        super().__init__(alert.message)
        self.alert = alert


class Alarms:
    """Judges a run as it goes. `loss` for every step's loss, `frame` for every sample; both give the alerts that are new."""

    def __init__(self) -> None:
        self.raised: set[tuple[str, str]] = set()
        self.losses: dict[str, _Losses] = {}
        self.columns: dict[str, tuple[list[str], np.ndarray]] = {}
        self.shown = 0
        self.rules = [_NonFiniteGradient(), _GradientGrows(), _NoGradient(), _DeadUnits(), _Update(), _RateZero()]

    def loss(self, step: int, value: float, subject: str = "run") -> list[Alert]:
        """A loss before its step. value: NaN and Inf allowed"""
        held = self.losses.get(subject)
        if held is None:
            held = self.losses[subject] = _Losses(subject)
        return self._new(held.see(step, value, alone=len(self.losses) == 1))

    def gradient(self, step: int, names: list[str]) -> list[Alert]:
        """Parameters whose gradient is not finite, before the step that would use it."""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return self._new([Alert("gradient-not-finite", step, "run", math.nan, "a finite number",
                                f"the gradient of {names[0]}{more} is not finite at step {step}, before the step is made")])

    def frame(self, step: int, columns: list[tuple[str, str]], values: np.ndarray, there: np.ndarray) -> list[Alert]:
        """One sample. columns: (quantity, subject), only ever longer; values: (columns,); there: which were measured, bool"""
        if len(columns) != self.shown:
            self._index(columns)
        view = _View(step, self.columns, values, there)
        found = [alert for rule in self.rules for alert in rule.see(view)]
        return self._new(found)

    def _index(self, columns) -> None:
        by_quantity: dict[str, list[int]] = {}
        for at, (quantity, subject) in enumerate(columns):
            if quantity == "grad_norm" and (subject == "run" or subject.startswith("optimizer ")):
                quantity = "total"  # over all parameters of an optimizer
            by_quantity.setdefault(quantity, []).append(at)
        self.columns = {q: ([columns[at][1] for at in places], np.array(places)) for q, places in by_quantity.items()}
        self.shown = len(columns)

    def _new(self, alerts: list[Alert]) -> list[Alert]:
        new = []
        for alert in alerts:
            if (alert.kind, alert.subject) not in self.raised:
                self.raised.add((alert.kind, alert.subject))
                new.append(alert)
        return new


# ---------------------------------------------------------------------- the loss
class _Losses:
    """One loss over the steps. Levels are medians of 16 losses; all distances are in units of what the run has gone through."""

    RECENT = 16       # losses of a level
    PAST = 64         # losses a jump is compared with
    STAYS = 48        # losses for which it must stay, without coming down
    FIRST = 48        # losses before anything is judged

    def __init__(self, subject: str):
        self.subject = subject
        self.count = 0
        self.recent: deque[float] = deque(maxlen=self.PAST + 8 + self.STAYS)
        self.start = self.low = self.high = None    # levels: the first one, the lowest and the highest
        self.known: deque[tuple] = deque(maxlen=12)  # lowest and highest level, every 8 losses
        self.bad = 0
        self.told = False

    def see(self, step: int, value: float, *, alone: bool) -> list[Alert]:
        if not math.isfinite(value):
            self.bad += 1
            return [Alert("loss-not-finite", step, "run", value, "a finite number",
                          f"the loss is {value:g} at step {step}, after {self.count} finite ones")] if self.bad == 1 else []
        self.count += 1
        self.recent.append(value)
        if self.count % 8 or len(self.recent) < self.RECENT:
            return []
        now = list(self.recent)[-self.RECENT:]
        level = median(now)
        found = []
        if self.count >= self.FIRST and level > self.low:
            found = list(self._diverges(step, min(now), level)) or (list(self._jumped(step, level)) if alone else [])
            if self.told:  # once for each loss, whichever of the two it was called
                found = []
            self.told |= bool(found)
        self.start = level if self.start is None else self.start
        self.low = level if self.low is None else min(self.low, level)
        self.high = level if self.high is None else max(self.high, level)
        self.known.append((self.low, self.high))
        return found

    def _diverges(self, step: int, least: float, level: float):
        """Against what was known a hundred losses ago: a rise that takes a while must not move what it is measured against."""
        low, high = self.known[0]
        if least > high and level > high + max(4 * (high - low), abs(high)) and level > high + 12 * _spread(list(self.recent)[:-self.RECENT]):
            yield Alert("loss-diverging", step, self.subject, level, f"at most {high:.4g}, the highest level before",
                        f"the loss is at {level:.4g}; the highest level before was {high:.4g}, the lowest {low:.4g}")

    def _jumped(self, step: int, level: float):
        """A jump that stays: most of the way back to the start, far beyond the noise; and it does not come down again, as the loss of a
        network does whose target was renewed."""
        if len(self.recent) < self.recent.maxlen:
            return
        values = list(self.recent)
        past, since = values[:self.PAST], values[-self.STAYS:]
        if min(since) <= max(past):
            return
        middle, spread, fallen = median(past), _spread(past), self.start - self.low
        if fallen > 20 * spread and level > middle + max(0.5 * fallen, 20 * spread) and level - middle > 0.9 * (median(since[:self.RECENT]) - middle):
            yield Alert("loss-spike", step, self.subject, level, f"{middle:.4g}, the level of {self.PAST} losses before",
                        f"the loss jumped from {middle:.4g} to {level:.4g} and stays there; it had begun at {self.start:.4g}")


def _spread(values: list[float]) -> float:
    """A robust standard deviation."""
    middle = median(values)
    return 1.4826 * median([abs(value - middle) for value in values]) + 1e-12


# ---------------------------------------------------------------------- the samples
class _View:
    """One sample by quantity."""

    def __init__(self, step, columns, values, there):
        self.step, self._columns, self._values, self._there = step, columns, values, there
        self._found: dict[str, tuple] = {}

    def of(self, quantity: str) -> tuple[list[str], np.ndarray]:
        """-> subjects, (subjects,) float64 with NaN where not measured"""
        if quantity not in self._found:
            subjects, places = self._columns.get(quantity, ([], np.zeros(0, int)))
            self._found[quantity] = subjects, np.where(self._there[places], self._values[places], np.nan).astype(np.float64)
        return self._found[quantity]

    def measured(self, quantity: str) -> np.ndarray:
        return self._there[self._columns[quantity][1]] if quantity in self._columns else np.zeros(0, bool)


def _grown(array: np.ndarray, size: int, filler=0.0) -> np.ndarray:
    """The state of a rule, with room for columns that came later."""
    return array if len(array) == size else np.concatenate([array, np.full(size - len(array), filler).astype(array.dtype)])


def _named(subjects, which: np.ndarray) -> str:
    places = np.flatnonzero(which)
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{subjects[places[0]]}{more}"


class _NonFiniteGradient:
    """A gradient that an optimizer really used is not finite; what a gradient scaler skipped never comes here."""

    def see(self, view):
        subjects, norms = view.of("grad_norm")
        bad = view.measured("grad_norm") & ~np.isfinite(norms)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            yield Alert("gradient-not-finite", view.step, "run", float(norms[first]), "a finite number",
                        f"the gradient of {_named(subjects, bad)} is not finite at step {view.step}, and the step was made")


class _GradientGrows:
    """The norm over all parameters, four decades above everything up to some while ago."""

    FACTOR, FIRST, SAMPLES, AGO = 1e4, 12, 3, 64

    def __init__(self):
        self.held: dict[str, tuple] = {}

    def see(self, view):
        for subject, norm in zip(*view.of("total")):
            if not math.isfinite(norm):
                continue
            recent, highs = self.held.setdefault(subject, (deque(maxlen=self.SAMPLES), deque(maxlen=self.AGO)))
            recent.append(norm)
            least = min(recent)
            before = highs[0] if len(highs) >= self.FIRST else 0.0
            if before > 0 and least > self.FACTOR * before:
                yield Alert("gradient-growing", view.step, subject, norm, f"at most {before:.3g}, the highest up to {len(highs)} samples ago",
                            f"the gradient norm is {norm:.3g}; up to {len(highs)} samples ago it had never stayed above {before:.3g}")
            if len(recent) == self.SAMPLES:
                highs.append(max(least, highs[-1] if highs else 0.0))


class _NoGradient:
    """A whole layer that never had any gradient, while others have one.

    Not a layer that had one before: an expert that no token is sent to rests, and may come back.
    """

    SAMPLES, STEPS = 10, 50

    def __init__(self):
        self.layers: list[str] = []
        self.of: np.ndarray = np.zeros(0, int)
        self.run, self.since = np.zeros(0, int), np.zeros(0, int)
        self.had = np.zeros(0, bool)

    def see(self, view):
        subjects, norms = view.of("grad_norm")
        if len(self.of) != len(subjects):
            self._layers(subjects)
        missing = dict(zip(*view.of("gradient_missing")))
        none = np.array([missing.get(s) == 1.0 for s in subjects], bool) if missing else np.zeros(len(subjects), bool)
        zero, read = (norms == 0) | none, view.measured("grad_norm") | none
        count = len(self.layers)
        members, zeros = np.bincount(self.of[read], minlength=count), np.bincount(self.of[zero], minlength=count)
        self.had |= members > zeros
        if not (members > zeros).any():  # nothing has a gradient: a converged hinge loss, say
            return
        empty = (members > 0) & ~self.had
        self.run += empty
        self.since = np.where(empty & (self.run == 1), view.step, self.since)
        ripe = empty & (self.run >= self.SAMPLES) & (view.step - self.since >= self.STEPS)
        if ripe.any():
            at = int(np.flatnonzero(ripe)[0])
            word = "no gradient at all" if none[self.of == at].all() else "a gradient of exactly zero"
            yield Alert("gradient-zero", view.step, self.layers[at], 0.0, "a gradient, as other layers have",
                        f"{_named(self.layers, ripe)} had {word} in {self.run[at]} samples since step {self.since[at]}, while other layers have one")

    def _layers(self, subjects) -> None:
        known = {name: at for at, name in enumerate(self.layers)}
        of = [known.setdefault(subject.rpartition(".")[0] or subject, len(known)) for subject in subjects]
        self.layers, self.of = list(known), np.array(of, int)
        self.run, self.since, self.had = (_grown(state, len(known)) for state in (self.run, self.since, self.had))


class _DeadUnits:
    """A ReLU layer that had living units loses nearly all of them."""

    SAMPLES, DEAD, ROSE = 5, 0.95, 0.3

    def __init__(self):
        self.count, self.first, self.run = np.zeros(0, int), np.zeros(0), np.zeros(0, int)

    def see(self, view):
        subjects, shares = view.of("dead_share")
        size = len(subjects)
        self.count, self.first, self.run = _grown(self.count, size), _grown(self.first, size, np.inf), _grown(self.run, size)
        seen = np.isfinite(shares)
        early = seen & (self.count < 3)
        self.first = np.where(early, np.fmin(self.first, shares), self.first)
        self.count += seen
        dead = seen & (shares >= self.DEAD) & (shares >= self.first + self.ROSE)
        self.run = np.where(seen, np.where(dead, self.run + 1, 0), self.run)
        ripe = dead & (self.run >= self.SAMPLES)
        for at in np.flatnonzero(ripe):
            yield Alert("dead-units-rising", view.step, subjects[at], float(shares[at]), f"about {self.first[at]:.0%}, as at its start",
                        f"{shares[at]:.0%} of the units of {subjects[at]} are 0 for every example; at the start it was {self.first[at]:.0%}")


class _Update:
    """The true change of weights, per learning rate: far above the run's own; or none at all though there is a gradient and a rate."""

    FACTOR, LARGE, FIRST, SAMPLES = 100.0, 0.1, 12, 3
    STILL, STEPS = 8, 20

    def __init__(self):
        self.count, self.high, self.run = np.zeros(0, int), np.zeros(0), np.zeros(0, int)
        self.still, self.since = 0, 0

    def see(self, view):
        subjects, ratios = view.of("update_ratio")
        rates = view.of("learning_rate")[1]
        rates = rates[np.isfinite(rates)]
        rate = float(rates.max()) if len(rates) else math.nan
        if not len(subjects) or not rate > 0:
            return
        yield from self._still(view, ratios, rate)
        size = len(subjects)
        self.count, self.high, self.run = _grown(self.count, size), _grown(self.high, size), _grown(self.run, size)
        relative = ratios / rate
        seen = np.isfinite(relative)
        far = seen & (self.count >= self.FIRST) & (relative > self.FACTOR * self.high) & (ratios > self.LARGE) & (self.high > 0)
        self.run = np.where(seen, np.where(far, self.run + 1, 0), self.run)
        self.count += seen
        self.high = np.where(seen & ~far, np.fmax(self.high, relative), self.high)
        ripe = far & (self.run >= self.SAMPLES)
        if ripe.any():
            at = int(np.flatnonzero(ripe)[0])
            yield Alert("update-too-large", view.step, "run", float(ratios[at]), f"at most {self.high[at] * rate:.2g} at this rate, as before",
                        f"a step changes {_named(subjects, ripe)} by {ratios[at]:.0%} of its size, {relative[at] / self.high[at]:.0f} times what it "
                        "ever did at the same learning rate")

    def _still(self, view, ratios, rate):
        norms = view.of("grad_norm")[1]
        measured = ratios[np.isfinite(ratios)]
        if len(measured) and (measured == 0).all() and np.nanmax(norms, initial=0.0) > 0:
            self.still += 1
            self.since = view.step if self.still == 1 else self.since
            if self.still >= self.STILL and view.step - self.since >= self.STEPS:
                yield Alert("update-zero", view.step, "run", 0.0, "a change, as there are gradients and a rate",
                            f"no weight has changed since step {self.since}, though there are gradients and the learning rate is {rate:g}")
        else:
            self.still = 0


class _RateZero:
    """Every learning rate is 0, sample after sample: a schedule that has run out, or never began."""

    SAMPLES, STEPS = 5, 20

    def __init__(self):
        self.run, self.since = 0, 0

    def see(self, view):
        rates = view.of("learning_rate")[1]
        rates = rates[np.isfinite(rates)]
        if not len(rates):
            return
        if (rates == 0).all():
            self.run += 1
            self.since = view.step if self.run == 1 else self.since
            if self.run >= self.SAMPLES and view.step - self.since >= self.STEPS:
                yield Alert("learning-rate-zero", view.step, "run", 0.0, "a rate above 0",
                            f"every learning rate has been 0 since step {self.since}: the steps change nothing")
        else:
            self.run = 0
