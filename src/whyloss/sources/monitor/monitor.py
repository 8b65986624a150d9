"""Watching a training at next to no cost: every quantity of every layer, in the steps that the budget pays for.

The loop is heard, never called: the loss at its backward, a step at the optimizer's hooks. A step that is not sampled costs
counters and one look at the clock. What goes wrong in here is told once and switches the watching off; the training goes on.
"""

import math
import sys
import weakref
from time import perf_counter

import numpy as np
import torch

from whyloss.alerts import Alarms, Alert, StopTraining
from whyloss.errors import BadInput
from whyloss.evidence import Evidence
from whyloss.sources.monitor import ears, replicas
from whyloss.sources.monitor.bucket import Cost
from whyloss.sources.monitor.byhand import ByHand
from whyloss.sources.monitor.culprit import culprit, described
from whyloss.sources.monitor.freezing import STEPS, Freezer, capturing
from whyloss.sources.monitor.history import History
from whyloss.sources.monitor.landing import Landing
from whyloss.sources.monitor.pace import Pace
from whyloss.sources.monitor.readings import single
from whyloss.sources.monitor.sample import EVERYTHING, Known, Sampler
from whyloss.sources.monitor.sharding import rank_and_world

LOOK = 32              # samples between two looks at whether the model has changed
UNREAD = 1024          # losses that wait on a device for the next sample, at most
HELD = 0.005           # of the parameters' own memory may be taken by the history, where there is no ledger
LEAST_HELD = 1 << 16   # bytes
TOGETHER = 16          # losses that are judged together
FOREIGN = 8            # steps of another optimizer inside a step that never ended


class Monitor:
    """Watches a model while it trains: `with Monitor(model, optimizer): ...` around the loop is all.

    optimizer          one, several, or None: every optimizer that updates the model
    budget             share of the step time that watching may take; the sampled steps are chosen to keep it
    every              sample every so many steps instead, whatever it costs
    run                folder for the ledger; None: none is written
    on_alert           called with each Alert
    stop_on_nonfinite  raise StopTraining at the first loss or gradient that is not finite, while the weights are still good
    freeze             folder for training steps that are saved when something goes badly wrong (whyloss diagnose FILE)
    writers            called with (step, {"grad_norm/layers.0.weight": value}) at each sample; `alert`, if they have it, with each Alert
    quantities         only these; None: all
    exact              read every entry of every tensor, not 4096 of the big ones; keeps one copy of the weights

    history, alerts, cost, not_observed and problem say what was seen, what it took, what was not seen and what went wrong.
    """

    def __init__(self, model, optimizer=None, *, budget: float = 0.01, every: int | None = None, run=None, on_alert=None,
                 stop_on_nonfinite: bool = False, writers=(), quantities=None, exact: bool = False, ledger=None, freeze=None):
        if not isinstance(model, torch.nn.Module):
            raise BadInput(f"Monitor needs a torch.nn.Module, not {type(model).__name__}")
        if every is not None and every < 1 or not 0 < budget < 1:
            raise BadInput(f"budget must lie between 0 and 1 and every must be 1 or more, not {budget} and {every}")
        unknown = set(quantities or ()) - set(EVERYTHING)
        if unknown:
            raise BadInput(f"no such quantities: {', '.join(sorted(unknown))}; there are {', '.join(EVERYTHING)}")
        self.model = model
        self.given = None if optimizer is None else tuple(map(ears.inner, optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]))
        self.stop_on_nonfinite, self.writers = stop_on_nonfinite, tuple(writers)
        self._hearers = [on_alert] * (on_alert is not None) + [w.alert for w in self.writers if hasattr(w, "alert")]
        self.quantities, self.exact, self.run, self.ledger = tuple(quantities) if quantities else EVERYTHING, exact, run, ledger
        self.freezer = Freezer(self, freeze) if stop_on_nonfinite or freeze is not None else None  # else no step pays for it
        self.alerts: list[Alert] = []
        self.problem: str | None = None
        self.attached, self.sampled = False, 0
        self.pace = Pace(budget, every)
        self._steps = 0                    # of all optimizers; those in `_quiet` come on top
        self.sampler: Sampler | None = None
        self.ranks: replicas.Replicas | None = None
        self._first, self._alarms = 0, Alarms()
        self._losses: list = []            # since the gradients were cleared: numbers, or tensors on a device
        self._told: list[tuple] = []       # (subject, step, value) of losses that are not judged yet
        self._unread: list[tuple] = []     # (subject, column, step, tensor) of losses that wait on a device
        self.landing: Landing | None = None
        self._anchor = None
        self._inside, self._closure = None, False   # the optimizer whose step runs
        self.wants_before = True           # whether steps are to be told before they are made
        self._keeps_before = False         # always: closures, or optimizers inside of optimizers
        self._heard: dict[int, tuple] = {} # optimizer -> (weak reference, record or None)
        self._ignored = 0
        self._quiet: list[float] = []      # losses of steps that are only counted so far, all of one (optimizer, record)
        self._quiet_of, self._quiet_left = None, 0   # how many more there may be
        self._said: set[str] = set()

    # ------------------------------------------------------------------ on and off
    def attach(self) -> "Monitor":
        """Begin to watch. -> itself, to be closed"""
        if self.attached or self.problem:
            return self
        try:
            size = sum(p.numel() * p.element_size() for p in self.model.parameters() if not torch.nn.parameter.is_lazy(p))
            self.sampler = Sampler(self.model, self._fail, quantities=self.quantities, exact=self.exact)
            self._history, self.landing = History(), Landing(self, max(LEAST_HELD, int(HELD * size)))
            self._rank, self._world = rank_and_world()
            if self.run is not None and self.ledger is None:
                from whyloss.sources.frames import FrameLedger, ledger_file
                self.ledger = FrameLedger(ledger_file(self.run, self._rank, self._world))
            self.ranks = replicas.told(self)
            self.hand = ByHand(self) if self.given is None and self.ranks is None else None
            self._anchor = next((p for p in self.model.parameters() if p.requires_grad), None)
            self._tick = getattr(self.ledger, "tick", None)
            if self.freezer is not None:
                self.freezer.attach()
            ears.listen(self)
            self.attached, self._began = True, perf_counter()
            self.pace.start(self._began)
            if self.freezer is not None:
                self.freezer.begin()
            if self._wants():
                self._begin_sample()
        except Exception as error:
            self._fail(error)
        return self

    def close(self) -> None:
        """Stop watching: every hook is taken off. What was seen stays readable."""
        if self.freezer is not None:
            self.freezer.unpatch()
        if not self.attached:
            return
        self.attached = False
        ears.unlisten(self)
        try:
            self._catch_up()
            self.sampler.drop()
            self.landing.land(wait=True)
            self._judge_losses()
            self.landing.judge()
            if self.freezer is not None:
                self.freezer.close()
        except Exception as error:
            self._fail(error)
        if self.ledger is not None:
            self.ledger.close()

    def __enter__(self) -> "Monitor":
        return self.attach()

    def __exit__(self, *error) -> None:
        self.close()

    def _fail(self, error: Exception) -> None:
        """A mistake of ours, or of a callback: told once, and no more watching."""
        if self.problem is None:
            self.problem = f"{type(error).__name__}: {error}"
            self._say("problem", f"watching was switched off, the training goes on: {self.problem}")
        if self.attached:
            self.attached = False
            if self.freezer is not None:
                self.freezer.drop()
            ears.unlisten(self)
            self.sampler.drop()
            if self.ledger is not None:
                try:
                    self.ledger.event(self.step, "problem", {"message": self.problem})
                    self.ledger.close()
                except Exception:
                    pass

    # ------------------------------------------------------------------ what can be asked
    @property
    def steps(self) -> int:
        """Optimizer steps done, of all optimizers."""
        return self._steps + len(self._quiet)

    @property
    def step(self) -> int:
        """Optimizer steps done, of the optimizer that did most; set it to go on counting after a resumed run."""
        self._catch_up()
        return self._first + max((k.step for k in self.sampler.known.values()), default=0) if self.sampler else self._first

    @step.setter
    def step(self, value: int) -> None:
        self._first += int(value) - self.step

    @property
    def history(self) -> Evidence:
        """What was seen, as evidence: the ledger where there is one, else what memory still holds."""
        if self.sampler is None:
            return Evidence()
        if self.attached:
            self._catch_up()
            self.landing.land()
            self._judge_losses()
        if self.run is not None and self.ledger is not None and not self.ledger.problem:
            try:
                from whyloss.sources.framefile import read_frames
                getattr(self.ledger, "flush", lambda: None)()
                return read_frames(self.ledger.file)
            except Exception:  # elsewhere, or not there yet: memory will do
                pass
        return self._history.evidence()

    @property
    def cost(self) -> Cost:
        freezing = self.freezer.seconds if self.freezer is not None else 0.0
        return Cost(self.pace.own, self.pace.share, self.steps, self.sampled, freezing)

    @property
    def frozen(self) -> list:
        """Files that hold training steps, so far."""
        return list(self.freezer.files) if self.freezer is not None else []

    def freeze(self, path, *, steps: int = STEPS) -> None:
        """Save the training from its next step on, for so many steps, to a file (or a new one in a folder): `whyloss diagnose FILE`
        runs the experiments later, elsewhere, on a CPU. What cannot be saved is told; the training goes on."""
        if self.freezer is None:
            self.freezer = Freezer(self)
        self.freezer.ask(path, "asked", steps)

    @property
    def not_observed(self) -> dict[str, str]:
        """Part of the model, or kind of number -> why it was not seen."""
        found = dict(self.sampler.closed) if self.sampler else {}
        self._catch_up()
        if not self.steps:
            found["steps"] = "no optimizer stepped, and no weight changed from one backward to the next"
        elif not self._alarms.losses and not self._unread and not self._told:
            found["loss"] = "no backward of a single number was seen before a step"
        return found

    def validation(self, step: int | None, loss: float) -> None:
        """A validation loss; step: None for now."""
        if self.attached:
            began, step = perf_counter(), self.step if step is None else int(step)
            try:
                self._history.observe("val_loss", "run", step, float(loss))
                if hasattr(self.ledger, "observe"):
                    self.ledger.observe("val_loss", float(loss), "run", step)
                elif self.ledger is not None:
                    self.ledger.event(step, "val_loss", {"value": float(loss)})
                for writer in self.writers:
                    writer(step, {"val_loss/run": float(loss)})
            except Exception as error:
                self._fail(error)
            self.pace.since += perf_counter() - began

    # ------------------------------------------------------------------ heard: the loss
    def hear_loss(self, tensors) -> None:
        """backward() is about to run on these."""
        began = perf_counter()
        try:
            if self.freezer is not None:
                self.freezer.before_backward(tensors)
            if not self._losses and not self.wants_before and type(tensors) is torch.Tensor and tensors.is_cpu and tensors.numel() == 1 and \
                    not ears.scaling():
                value = tensors.item()
                if type(value) is float and value - value == 0.0:  # as it nearly always is: finite
                    self._losses.append(value)
                    return
            self._hear_loss((tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors))
        except StopTraining:
            self.close()
            raise
        except Exception as error:
            self._fail(error)
        finally:
            self.pace.since += perf_counter() - began

    def _hear_loss(self, tensors) -> None:
        if self._losses and self._inside is not None and self._closure:
            return                # a closure that is called again: the first call is the loss before the step
        if self._losses and self._anchor is not None and self._anchor.grad is None:
            self._losses.clear()  # the gradients of the last backward are gone: a step that a scaler skipped
        if self.sampler.open and self._inside is None:
            self.sampler.activations.flush()
        for loss in tensors:
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:  # a GradientEdge has no value
                continue
            plain = ears.unscaled(loss)
            if plain.is_cpu or self.stop_on_nonfinite:
                value = plain.item()
                if type(value) is float:
                    self._losses.append(value)
                    if not math.isfinite(value):
                        self._not_finite(loss, value)
            elif not (plain.is_cuda and torch.cuda.is_current_stream_capturing()):
                self._losses.append(plain.detach().reshape(()).float().clone())  # no wait: it is read with the next sample

    def _not_finite(self, loss: torch.Tensor, value: float) -> None:
        """At once, while the weights are still good and the graph is still there."""
        subject = next((k.subject for k in self.sampler.known.values()), "run")
        self._judge_losses()
        for alert in self._alarms.loss(self.step, value, subject):
            words = (self.freezer.failed(value) if self.freezer is not None else "") or described(culprit(loss, self.sampler.names))
            self._raise_or_stop(alert.saying(words))

    def _raise_or_stop(self, alert: Alert) -> None:
        self._raise(alert)
        if self.stop_on_nonfinite:
            raise StopTraining(alert)

    # ------------------------------------------------------------------ heard: the step
    def before_step(self, optimizer, args, kwargs) -> None:
        began = perf_counter()
        try:
            known = self._mine(optimizer)
            if known is None:
                return
            if self._inside is not None and self._inside is not optimizer and self._ignored < FOREIGN:
                self._keeps_before = True
                self._ignored += 1  # an optimizer inside another one's step; or one whose step raised
                return
            self._inside, self._ignored = optimizer, 0
            self._closure = closure = (len(args) > 1 or bool(kwargs)) and any(callable(a) for a in (*args[1:], *kwargs.values()))
            if closure:
                self._keeps_before = True
                self._carried = list(self._losses)
                self._losses.clear()
            if self.sampler.open and id(known) not in self.sampler.done:
                self.pace.entered = began
                self.sampler.before(known, optimizer, closure)
        except Exception as error:
            self._fail(error)
        finally:
            self.pace.since += perf_counter() - began

    def after_step(self, optimizer) -> None:
        if self._quiet_left and optimizer is self._quiet_of[0] and self._losses and type(self._losses[0]) is float:
            self._quiet_left -= 1
            self._quiet.append(sum(self._losses))
            self._losses = []
            return
        began = self.pace.entered = perf_counter()
        try:
            known = self._mine(optimizer)
            if known is None:
                self._losses.clear()  # the loss of another model
            elif not self.wants_before:
                self._plain_step(known, optimizer, began)
            elif optimizer is self._inside:
                self._after(known, optimizer, began)
        except Exception as error:
            self._fail(error)
        finally:
            self.pace.since += perf_counter() - began

    def _mine(self, optimizer) -> Known | None:
        entry = self._heard.get(id(optimizer))
        if entry is None or entry[0]() is not optimizer:
            if self.hand is not None:
                self.hand.hear(optimizer)
            known = self.sampler.lookup(optimizer) if self.given is None or any(optimizer is mine for mine in self.given) else None
            self._heard = self._heard if len(self._heard) < 64 else {}
            self._heard[id(optimizer)] = entry = weakref.ref(optimizer), known
        return entry[1]

    def _plain_step(self, known: Known, optimizer, now: float) -> None:
        """A step that is not sampled, and those before it that were only counted."""
        self.pace.plain(now, 1 + len(self._quiet))
        self._catch_up()
        heard = len(self._told)
        if self._losses:
            self._take_loss(known, self._first + known.step)
        known.step += 1
        self._steps = known.last = self._steps + 1
        if self._tick is not None:
            self._tick()
        if self.landing.flying:
            self.landing.land()
        if self.pace.perhaps(self._steps) and self._wants():
            self._begin_sample()
        elif len(self._told) != heard and self.freezer is None and self._world == 1 and not self.landing.flying:
            self._quiet_of, self._quiet_left = (optimizer, known), self.pace.quiet(self._steps)

    def _catch_up(self) -> None:
        """Steps that were only counted so far are steps like the others."""
        if self._quiet:
            known, first = self._quiet_of[1], self._first + self._quiet_of[1].step
            self._told += [(known.subject, first + at, value) for at, value in enumerate(self._quiet)]
            known.step += len(self._quiet)
            self._steps = known.last = self._steps + len(self._quiet)
        self._quiet, self._quiet_of, self._quiet_left = [], None, 0

    def _after(self, known: Known, optimizer, now: float) -> None:
        sampler, step, closure = self.sampler, self._first + known.step, self._closure
        self._inside = None
        self.pace.sampled(now, sampler.activations.taken())
        if closure and not self._losses:
            self._losses = self._carried
        if sampler.open and id(known) not in sampler.done and known.plan is not None:
            sampler.after(known, optimizer, closure, self.pace.every == 1)
        elif known.plan is not None:
            known.plan.after = []   # a second step in one sample, whose change nobody reads
        self._take_loss(known, step)
        known.step += 1
        self._steps = known.last = self._steps + 1
        if self._steps == 1:
            self._anchor = next((p for group in optimizer.param_groups for p in group["params"] if p.requires_grad), None)
        if sampler.open and sampler.complete(self._steps):
            self._end_sample()
        elif self.landing.flying:
            self.landing.land()
        if self._tick is not None:
            self._tick()
        if self.attached and not sampler.open:
            if self._wants():
                self._begin_sample()
            else:
                sampler.rest()

    def _take_loss(self, known: Known, step: int) -> None:
        """The sum of what backward was called on since the gradients were cleared: what the step minimises."""
        if not self._losses:
            return
        if type(self._losses[0]) is float:
            value = sum(self._losses)
            if self.sampler.open:
                self.sampler.host[known.loss] = single(value)
            self._told.append((known.subject, step, value))
            if len(self._told) >= TOGETHER:
                self._judge_losses()
        elif len(self._unread) < UNREAD:
            self._unread.append((known.subject, known.loss, step, torch.stack([v for v in self._losses if isinstance(v, torch.Tensor)]).sum()))
        self._losses = []

    def _judge_losses(self) -> None:
        """Several at once, while their code is warm; one that is not finite was told at once."""
        told, self._told = self._told, []
        for subject, step, value in told:
            self._history.loss(subject, step, value)
            for alert in self._alarms.loss(step, value, subject):
                self._raise(alert)

    def _pending(self) -> float:
        """Own seconds since the last step ended, up to now."""
        return self.pace.pending(perf_counter(), self.sampler.activations.seconds)

    def _wants(self) -> bool:
        """Whether the next step is to be sampled."""
        return not capturing() and self.pace.wants(self._steps, self._world, self._pending())

    # ------------------------------------------------------------------ samples
    def _begin_sample(self) -> None:
        if self.sampled and self.sampled % LOOK == 0 and self.sampler.unlike():
            self.sampler.look()
        self.wants_before = True
        self.pace.begin(self._pending())
        self.sampler.begin(self.step, self._steps)

    def _end_sample(self) -> None:
        self.sampled += 1
        self.wants_before = self._keeps_before
        flight = self.sampler.end(self._unread)
        self._unread = []
        self.landing.sent(flight, perf_counter() - self._began)
        self.pace.end(self._pending())

    def told(self, losses: list[tuple]) -> None:
        """Losses that were read with a sample: (subject, step, value) each."""
        self._told += losses
        self._judge_losses()

    def ledger_problem(self) -> None:
        """A ledger that lies elsewhere is told once; one that has given up, too, and left."""
        if getattr(self.ledger, "beside", None):
            self._say("ledger", f"{self.ledger.beside}; what this one sees is in {self.ledger.file.parent}")
        if getattr(self.ledger, "problem", None):
            self._say("ledger", f"the ledger was given up, the watching goes on in memory: {self.ledger.problem}")
            self.ledger = self._tick = None

    # ------------------------------------------------------------------ alerts
    def judge_frame(self, step: int, frame: np.ndarray, there: np.ndarray) -> None:
        """there: what was measured"""
        for alert in self._alarms.frame(step, self.sampler.columns, frame, there):
            self._raise(alert)

    def _raise(self, alert: Alert) -> None:
        self.alerts.append(alert)
        self._history.event(alert.step)
        self._say(alert.kind, alert.message)
        if self.ledger is not None:
            self.ledger.event(alert.step, alert.kind, alert.as_dict())
        if self.freezer is not None:
            self.freezer.alerted(alert)
        for hearer in self._hearers:
            hearer(alert)

    def _say(self, kind: str, message: str) -> None:
        """One line for each kind, and no more."""
        if kind not in self._said:
            self._said.add(kind)
            print(f"whyloss: {kind}: {message}", file=sys.stderr)
