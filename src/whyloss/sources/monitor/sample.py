"""One sample: what is read between the end of one optimizer step and the end of the next, and the frame it becomes."""

import contextlib
import math
import weakref
from dataclasses import dataclass, field

import numpy as np
import torch

from whyloss.sources.framefile import ABSENT, blank, is_absent
from whyloss.sources.monitor.activations import Activations
from whyloss.sources.monitor.entries import Entries
from whyloss.sources.monitor.functional import Functional
from whyloss.sources.monitor.parameters import Plan, Watched, is_part, largest_gradients
from whyloss.sources.monitor.readings import Readings
from whyloss.sources.monitor.sharding import holders, rank_and_world
from whyloss.sources.monitor.taps import Taps, plain, unwrapped

LIVE = 24           # steps for which an optimizer that rests counts as taking part
WAIT = 16           # steps for which a sample waits for another optimizer
DEAF = 2            # samples without any module heard, after which none is listened to
ACTIVATIONS = ("activation_mean", "activation_std", "active_share", "dead_share")
PARAMETERS = ("grad_norm", "weight_norm", "update_ratio")
EVERYTHING = ("loss", "val_loss", "learning_rate", *PARAMETERS, *ACTIVATIONS)


@dataclass(eq=False)
class Known:
    """An optimizer that updates parameters of the model. step: its own steps so far; subject: of its loss."""

    optimizer: weakref.ref
    name: str
    subject: str
    step: int = 0
    last: int = 0                   # of all steps, its last
    count: int = 0                  # parameters it held when the plan was made
    plan: Plan | None = None
    loss: int = 0
    rates: list[int] = field(default_factory=list)
    norm: int = -1


@dataclass(eq=False)
class Flight:
    """A sample that is complete and perhaps still on its way to the host."""

    step: int
    readings: Readings
    unfinished: tuple
    extra: int
    host: dict[int, float]          # what the host knew anyway
    missing: list[Watched]
    plans: list[Plan]
    found_inf: int = 0              # place of the scaler's flag
    losses: list = field(default_factory=list)   # (subject, step, place) of losses that were read with it
    frame: np.ndarray | None = None              # once it has arrived, with extra places at its end
    sound: bool = False                          # and then: the norms over all gradients are finite

    def alike(self, other: "Flight") -> bool:
        """Whether both have the same numbers in the same places, so that they can be worked out together."""
        (pairs, twice, again), (its_pairs, its_twice, its_again) = self.unfinished, other.unfinished
        return self.plans == other.plans and not (again or its_again or self.extra or other.extra or self.missing or other.missing) and \
            twice == its_twice and len(pairs) == len(its_pairs) and self.readings.alike(other.readings) and \
            all(a is c and b is d and n == m for (a, b, n), (c, d, m) in zip(pairs, its_pairs))


class Sampler:
    """Reads a model's modules and parameters, and keeps the columns of the frames."""

    def __init__(self, model, on_error, *, quantities, exact: bool):
        self.model, self.on_error, self.quantities, self.exact = model, on_error, quantities, exact
        self.entries = Entries()
        self.activations = Activations(self.entries, on_error, exact=exact)
        self.columns: list[tuple[str, str]] = []
        self.places: dict[tuple[str, str], int] = {}
        self.parts: dict[str, torch.Tensor] = {}
        self.joined: dict = {}
        self.closed: dict[str, str] = {}       # part of the model -> why it is not seen
        self.known: dict[int, Known] = {}
        self.foreign: dict[int, weakref.ref] = {}
        self.deaf = 0
        self.open = False
        self.taps: Taps | None = None
        self.done: set[int] = set()
        self.column("loss", "run")
        self.column("val_loss", "run")
        self.look()

    def column(self, quantity: str, subject: str) -> int:
        key = (quantity, subject)
        if key not in self.places:
            self.places[key] = len(self.columns)
            self.columns.append(key)
        return self.places[key]

    # ------------------------------------------------------------------ what there is
    def look(self) -> None:
        """Find modules and parameters anew. Columns that were there stay where they are."""
        inside, _ = unwrapped(self.model)
        self.names = {id(p): plain(name) for name, p in inside.named_parameters()}
        self.modules = sum(1 for _ in self.model.modules())
        self.rest()
        self.taps = None
        self.activations.forget()
        if any(q in self.quantities for q in ACTIVATIONS) and self.deaf < DEAF:
            self.taps = Taps(self.model, self.activations)
            self.closed = dict(self.taps.closed)
            self.functional = Functional(self.taps.modules, self.activations, self._columns)
        for tap in self.taps.taps if self.taps else []:
            self._columns(tap)
        for known in self.known.values():
            known.plan = None

    def _columns(self, tap) -> None:
        tap.columns = {quantity: self.column(quantity, tap.name) for quantity in (ACTIVATIONS if tap.relu else ACTIVATIONS[:2])}

    def lookup(self, optimizer) -> Known | None:
        """The record of an optimizer; None for one that updates nothing of this model."""
        key = id(optimizer)
        if key in self.known and self.known[key].optimizer() is optimizer:
            return self.known[key]
        if key in self.foreign and self.foreign[key]() is optimizer:
            return None
        held = [p for group in optimizer.param_groups for p in group["params"]]
        if not any(id(p) in self.names for p in held) and self.unlike():
            self.look()
        if not any(id(p) in self.names for p in held):
            self.foreign[key] = weakref.ref(optimizer)
            return None
        self.known[key] = self._new(optimizer)
        return self.known[key]

    def _new(self, optimizer) -> Known:
        count = len(self.known)
        number = f" {count + 1}" if count else ""
        known = Known(weakref.ref(optimizer), f"{type(optimizer).__name__}{number}", f"optimizer{number}" if count else "run")
        known.loss = self.column("loss", known.subject)
        known.norm = self.column("grad_norm", known.subject)
        return known

    def plan(self, known: Known, optimizer) -> Plan:
        """How its parameters are read; made again when their number changes."""
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        if known.plan is None or known.count != count:
            known.count = count
            known.rates = [self.column("learning_rate", f"{known.name}.group{at}") for at in range(len(optimizer.param_groups))]
            held = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
            members = []
            for at, parameter in enumerate(held):
                name = self.names.get(id(parameter)) or f"{known.name}.parameter{at}"
                member = Watched(name, parameter, *(self.column(q, name) for q in PARAMETERS), part=is_part(parameter))
                if member.part:
                    self.parts.setdefault(name, parameter)
                members.append(member)
            wanted = any(q in self.quantities for q in PARAMETERS)
            known.plan = Plan(members if wanted else [], self.entries, exact=self.exact)
            self._share_total(known, known.plan)
        return known.plan

    def _share_total(self, known: Known, plan: Plan) -> None:
        """The norm over all parameters is partial too where some are sharded: what every rank holds whole, the first one counts."""
        parts = [m.tensor for m in plan.members if m.part]
        if parts:
            first = holders(parts[0])[0] == rank_and_world()[0]
            plan.counted = np.array([m.part or first for m in plan.members])
            plan.whole = bool(plan.counted.all())
            self.parts.setdefault(known.subject, parts[0])

    def new_parts(self) -> list[tuple[str, torch.Tensor]]:
        """Sharded parameters that were not told of yet: name, parameter."""
        new, self.parts = list(self.parts.items()), {}
        return new

    def unlike(self) -> bool:
        """Whether the model has other modules or parameters than when it was looked at."""
        inside, _ = unwrapped(self.model)
        return self.modules != sum(1 for _ in self.model.modules()) or any(id(p) not in self.names for p in inside.parameters())

    # ------------------------------------------------------------------ one sample
    def begin(self, step: int, total: int) -> None:
        self.open, self.step, self.began, self.done = True, step, total, set()
        self.readings, self.host, self.missing, self.inf, self.plans = Readings(self.joined), {}, [], 0, []
        self.activations.begin(self.readings)
        self._listen()

    def _listen(self) -> None:
        if self.taps is not None:
            if not self.taps.on:
                self.taps.put_on()
            self.functional.begin(self.activations.sample)

    @torch.no_grad()
    def before(self, known: Known, optimizer, closure: bool) -> None:
        plan = self.plan(known, optimizer)
        if not closure:  # with a closure, forward and backward are still to come
            self.heard(known, optimizer, plan)
        plan.read_before(self.readings)

    def heard(self, known: Known, optimizer, plan: Plan) -> None:
        """Forward and backward are over: read what they left."""
        self.activations.flush()
        inverse = None
        scale = getattr(optimizer, "grad_scale", None)  # a fused optimizer divides by the scale itself
        if isinstance(scale, torch.Tensor):
            inverse = scale.double().reciprocal().float()
            found = getattr(optimizer, "found_inf", None)
            if isinstance(found, torch.Tensor):
                self.activations.extra += 1
                self.inf = -self.activations.extra
                self.readings.add(found.reshape(1).float(), [self.inf])
        self.missing += plan.read_gradients(self.readings, inverse)
        for at, group in zip(known.rates, optimizer.param_groups):
            rate = group.get("lr")
            if isinstance(rate, torch.Tensor) and rate.device.type != "cpu":
                self.readings.add(rate.detach().reshape(1), [at])
            elif rate is not None:
                self.host[at] = float(rate)

    @torch.no_grad()
    def after(self, known: Known, optimizer, closure: bool, follows: bool) -> None:
        """follows: the next step is sampled too"""
        if closure:
            self.heard(known, optimizer, known.plan)
        known.plan.read_after(self.readings, follows=follows)
        self.plans.append(known.plan)
        self.done.add(id(known))

    def complete(self, total: int) -> bool:
        """Whether every optimizer that takes part was read."""
        live = [k for k in self.known.values() if total - k.last <= LIVE]
        return bool(self.done) and (all(id(k) in self.done for k in live) or total - self.began >= WAIT)

    def end(self, unread: list = ()) -> Flight:
        """Close the sample and send it to the host, with the losses that still wait on the device: (subject, column, step, tensor)."""
        if self.taps is not None:
            self.deaf = 0 if self.activations.heard or self.activations.inside else self.deaf + 1   # inside: of a Sequential that raised
            if self.deaf >= DEAF and self.taps.taps:
                self.rest()
                self.taps.closed["the model"] = "no module was heard: a compiled function calls it, or other code than forward"
                self.closed.update(self.taps.closed)
                self.taps = None
        losses = []
        for subject, column, step, value in unread:
            self.activations.extra += 1
            place = column if step == self.step else -self.activations.extra
            self.readings.add(value.reshape(1), [place])
            losses.append((subject, step, place))
        if self.taps is not None:
            self.host.update(dict.fromkeys(self.taps.settle(), ABSENT))
        self.readings.send()
        flight = Flight(self.step, self.readings, self.activations.unfinished(), self.activations.extra, self.host, self.missing, self.plans,
                        self.inf, losses)
        self.activations.end()
        self.open = False
        return flight

    def rest(self) -> None:
        """No sample follows at once: the taps come off."""
        for known in self.known.values():
            if known.plan is not None:
                known.plan.after = []
        if self.taps is not None and self.taps.on:
            self.taps.take_off()
            self.functional.take_off()

    @contextlib.contextmanager
    def resting(self):
        """Nothing is listened to in here, also in the middle of a sample."""
        was_on = self.taps is not None and self.taps.on
        self.rest()
        try:
            yield
        finally:
            if was_on and self.open:
                self._listen()

    def drop(self) -> None:
        """Give the sample up."""
        self.rest()
        self.activations.end()
        self.open = False

    # ------------------------------------------------------------------ on the host
    def arrive(self, flights: list[Flight]) -> bool:
        """The numbers of samples that are alike are on the host. One by one and at once after the step where gradients may have to be looked
        at again. -> whether all is well with them"""
        first = flights[0]
        for member in first.missing:
            self.column("gradient_missing", member.name)
        table = blank(len(self.columns) + first.extra, len(flights))
        for flight, row in zip(flights, table):
            flight.readings.into(row)
        skipped = bool(first.found_inf and table[0, first.found_inf] > 0)
        sound = np.ones(len(flights), bool)
        with np.errstate(all="ignore"):
            for plan in first.plans:
                known = next((k for k in self.known.values() if k.plan is plan), None)
                self._settle(table, plan, known, skipped)
                if known is not None:
                    sound &= np.isfinite(table[:, known.norm])
            self.activations.finish(table, *first.unfinished)
        for flight, row, flight.sound in zip(flights, table, sound.tolist()):
            flight.frame = row.copy()
        return bool(sound.all())

    def frame(self, flight: Flight) -> tuple[np.ndarray, list]:
        """The numbers of a sample that has arrived. -> (columns,) float32, ABSENT where not measured; (subject, step, loss) of the losses
        read with it"""
        frame = flight.frame
        losses = [(subject, step, float(frame[place])) for subject, step, place in flight.losses]
        frame = frame[:len(frame) - flight.extra]
        for at, value in flight.host.items():
            frame[at] = value
        for member in flight.missing:
            frame[self.places["gradient_missing", member.name]] = 1.0
        return frame, losses

    def _settle(self, table: np.ndarray, plan: Plan, known: Known | None, skipped: bool) -> None:
        """table: (samples, columns), overwritten where norms become ratios and the norm over all"""
        gradients, weights, changes = plan.gradients, plan.weights, plan.changes
        if not plan.members:
            return
        if skipped:  # the scaler found an overflow and nothing was updated
            table[:, gradients] = table[:, changes] = blank(1)[0]
            return
        norms = table[:, gradients]
        if not 0 < norms.min() <= norms.max() < np.inf:
            if plan.members[0].tensor.device.type != "cuda":
                for frame, its in zip(table, norms):
                    self._confirm(frame, [plan.members[i] for i in np.flatnonzero((its == 0) | np.isinf(its))])
                norms = table[:, gradients]
        change, weight = table[:, changes], table[:, weights]
        ratio = change / weight
        if not ratio.max() < np.inf:  # something is not finite, or absent
            ratio[~(weight > 0) | is_absent(change)] = blank(1)[0]
        table[:, changes] = ratio
        if known is not None:
            wide = norms.astype(np.float64)
            if not plan.whole or not norms.max() < np.inf:
                there = ~is_absent(norms) & plan.counted
                wide[~there] = 0.0
                if not there.any():
                    return
            table[:, known.norm] = np.sqrt(np.square(wide).sum(1))

    @staticmethod
    def _confirm(frame: np.ndarray, members: list[Watched]) -> None:
        """A norm is 0 below 1e-22 and infinite above 1e19, though no entry is: the largest entry stands for it then."""
        for member, largest in largest_gradients(members):
            at = member.gradient
            if (frame[at] == 0 and largest > 0) or (np.isinf(frame[at]) and math.isfinite(largest)):
                frame[at] = largest
