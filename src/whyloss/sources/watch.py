"""Watches one training in this process: hears the loop's calls, captures the first steps, writes observations.

An error of ours never reaches the user's loop: it is recorded and switches the watching off.
"""

import contextlib
import math

import torch

from whyloss.evidence import Evidence
from whyloss.observation import Run
from whyloss.sources import (
    embeddings,
    facts,
    graphless,
    lossterms,
    meters,
    names,
    nonfinite,
    place,
    recurrences,
    reshapes,
    sampling,
    stepfacts,
    termvalues,
    writtenloss,
)
from whyloss.sources.checkpoints import Checkpoints
from whyloss.sources.clock import worked
from whyloss.sources.closures import Closures
from whyloss.sources.evaluation import Evaluation
from whyloss.sources.forward import TRACED, Forward
from whyloss.sources.gradients import Gradients
from whyloss.sources.layers import Layers
from whyloss.sources.loaders import Loaders
from whyloss.sources.loop import Patches
from whyloss.sources.normalisation import Normalisation
from whyloss.sources.origin import observe_origins
from whyloss.sources.program import TAPES, Event, Program
from whyloss.sources.ranks import Ranks
from whyloss.sources.recorder import Recorder, finish, joined
from whyloss.sources.scoring import Scoring
from whyloss.sources.settings import Settings
from whyloss.sources.shards import Shards
from whyloss.sources.stages import Stages
from whyloss.sources.switched import NAMES as SWITCHES
from whyloss.sources.switched import Switched
from whyloss.sources.tape import autocast_state
from whyloss.sources.undisturbed import Undisturbed
from whyloss.sources.window import Window


class Guard:
    """A piece of our own work; see Watch._guard()."""

    __slots__ = ("watch", "began", "alone")

    def __init__(self, watch):
        self.watch = watch

    def __enter__(self) -> None:
        self.began = worked()
        self.watch.recorder.paused += 1
        self.alone = Undisturbed()
        self.alone.__enter__()

    def __exit__(self, kind, error, trace) -> bool:
        self.alone.__exit__(None, None, None)
        watch, recorder = self.watch, self.watch.recorder
        recorder.paused -= 1
        if not recorder.paused:
            recorder.spent += worked() - self.began
        if not isinstance(error, Exception):
            return False
        watch.errors.append(f"{type(error).__name__}: {error} ({_where(error)})")
        watch.awake = False
        recorder.window = None
        return True


class Watch:
    """One watch. start() puts it on, stop() takes it off and completes the evidence."""

    STAGE = ("evidence", "program", "forward", "gradients", "layers", "normalisation", "evaluation", "scoring", "settings", "clock", "window_count",
             "step_count", "stepped_since_backward", "early", "first_value", "optimizers", "optimizer_places", "root_names", "counts", "next_trace",
             "first_non_finite", "last_tape", "named", "named_roots", "late_names", "rename_at", "root_last", "root_free", "ever_reached", "tops",
             "live_tops", "unregistered", "last_window", "last_loss")

    def __init__(self, *, steps: int | None = None):
        self.evidence = Evidence()
        self.evidence.add_run(Run("main", "watched"))
        self.recorder = Recorder()
        self.recorder.on_operation = self._operation
        self.recorder.on_idle = self._idle
        self.recorder.on_result = self._result
        self.recorder.on_inner = self._inner
        self.recorder.on_switch = self._switch
        self.inside_backward = False
        self.ledger = None        # evidence on disk, for runs that are killed; see ledger.py
        self.shards = Shards()
        self.switched = Switched()
        self.fresh()
        self.recorder.on_update = self.forward.updated_by_hand
        self.recorder.on_write = self.gradients.wrote
        self.recorder.is_target = self.forward.is_target
        self.ranks = Ranks(self)
        self.loaders = Loaders(self)
        self.checkpoints = Checkpoints(self)
        self.closures = Closures(self)
        self.stages = Stages(self)
        self.patches = Patches(self)
        self.limit = steps
        self.awake = False
        self.began: float | None = None
        self.errors: list[str] = []

    def fresh(self) -> None:
        """What belongs to one training; see stages.py."""
        self.program = Program()
        self.forward = Forward(self)
        self.gradients = Gradients(self)
        self.layers = Layers(self)
        self.normalisation = Normalisation(self)
        self.evaluation = Evaluation(self)
        self.scoring = Scoring(self)
        self.settings = Settings(self)
        self.clock = 0            # training iterations so far: the step of every observation
        self.window_count = 0     # backward passes so far
        self.step_count = 0       # optimizer steps so far
        self.stepped_since_backward = True
        self.early = False        # record from the end of the last backward: loops without modules
        self.first_value: float | None = None
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.optimizer_places: dict[int, str | None] = {}
        self.root_names: dict[int, dict[int, str]] = {}
        self.counts: dict[tuple[str, str | None], int] = {}
        self.next_trace = TRACED
        self.first_non_finite: dict | None = None
        self.last_tape = None
        self.named = False
        self.named_roots: set[int] = set()
        self.late_names = names.Late()
        self.rename_at = -1
        self.root_last: dict[int, int] = {}   # window of a root module's last training call
        self.root_free: dict[int, tuple] = {}   # root modules called without gradients: last window, windows in all, the module (weak)
        self.ever_reached: set[int] = set()
        self.tops: dict = {}
        self.live_tops: dict = {}
        self.unregistered: dict = {}
        self.last_window = self.last_loss = None

    # ------------------------------------------------------------------ life
    def start(self) -> "Watch":
        self.patches.install()
        self.awake = True
        self.recorder.window = Window(taped=True, traced=False, evaluation=False, step=0)
        self.recorder.window.sparse = True  # until the first step begins, what carries a gradient may belong to it
        self.recorder.install()
        return self

    def stop(self) -> None:
        """Take everything off and write what is known only at the end."""
        if not self.awake:
            return
        self.awake = False
        self.recorder.window = None
        self.recorder.remove()
        self.patches.remove()
        with self._guard():
            self.stages.over()
            self.loaders.at_the_end()
            observe_origins(self)

    def _keep(self) -> None:
        """Write the evidence so far, with what at_the_end() would say now."""
        whole, self.evidence = self.evidence, self.evidence.copy()
        try:
            facts.at_the_end(self)
            latest = Evidence()
            for key, column in self.evidence.columns():
                known = len(whole.series(key[1], key[2], key[0]))
                for step, value in zip(column.steps[known:], column.values[known:]):
                    latest.add(key[1], value, subject=key[2], step=step, run=key[0])
        finally:
            self.evidence = whole
        self.ledger.write(self.evidence, latest)
        self.ranks.write(self.evidence, latest)

    def fork(self) -> None:
        """In a child process that only loads data: hear nothing, record nothing."""
        self.awake, self.recorder.window = False, None
        self.recorder.remove()

    @contextlib.contextmanager
    def quiet(self):
        """Nothing inside is recorded."""
        self.recorder.paused += 1
        try:
            yield
        finally:
            self.recorder.paused -= 1

    def _guard(self) -> "Guard":
        """Our own errors: recorded, watching switched off, the training goes on. Its time is counted as ours."""
        return Guard(self)

    def _event(self, kind: str, where: str | None, key: int = 0, **data) -> Event:
        self.counts[(kind, where)] = self.counts.get((kind, where), 0) + 1
        event = Event(kind, where, self.window_count, key, data)
        self.program.log(event)
        return event

    def observe(self, quantity: str, value, subject: str = "run", step: int | None = None) -> None:
        self.evidence.add(quantity, value, subject=subject, step=self.clock if step is None else step)

    # ------------------------------------------------------------------ operations
    def _idle(self, func, args) -> None:
        """Between backward and the next forward: who reads .grad, who adds to a tensor that still has its graph?"""
        if not self.awake or torch._C._current_graph_task_id() != -1:
            return
        name = getattr(func, "__name__", "")
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.grad:
            with self._guard():
                self.gradients.read(place.here(2))
        elif name in ("add", "__add__", "__radd__", "__iadd__", "add_", "sum", "stack", "cat"):
            with self._guard():
                if any(t.grad_fn is not None for t in facts.tensors_in(args)):
                    key = ("graph_used_after_backward", place.here(2))
                    self.counts[key] = self.counts.get(key, 0) + 1
        elif name in SWITCHES:
            self._switch(func, args)
        elif name in reshapes.NAMES:
            with self._guard():
                reshapes.between_steps(self, name, args, lambda: place.here(3))

    def _operation(self, window: Window, step) -> None:
        self.normalisation.operation(window, step)
        if step.name == "grad":
            self.gradients.read(step.place)
        elif window.evaluation:
            self.evaluation.operation(window, step)
        else:
            self.layers.operation(window, step)

    def _result(self, name, args, kwargs, result) -> None:
        if self.awake and self.scoring.concerns(args):
            with self._guard():
                self.scoring.heard(name, args, kwargs, result)

    def _switch(self, func, args) -> None:
        with self._guard():
            self.switched.heard(func, args)

    def _inner(self, name, module, args, kwargs, where) -> None:
        self.scoring.inside(name, module, args, kwargs, where)

    # ------------------------------------------------------------------ backward
    def before_backward(self, tensors, grad_tensors, where, retain_graph) -> None:
        with self._guard():
            losses = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
            loss = losses[0]
            self._autocast("backward_in_autocast", where)
            for part in losses:
                self.scoring.differentiated(part)
            if self.began is None:
                self.began = worked()
            window = self.recorder.window
            if loss.grad_fn is None:
                graphless.observe(self, window, loss, where)
            if window is not None and window.sparse:
                self.early, window.sparse = True, False
            if window is not None and window.evaluation:
                self.evaluation.phase_over()
                window = self.recorder.window = None
            if window is None and any(loss is w.weak.get(id(loss), (lambda: None,))[0]() for w in self.forward.recent):
                window = self.forward.open()  # nothing new was computed since the last backward(): two losses of one forward pass
                window.traced = False
            elif window is None or not window.roots and not window.nodes:
                self.early = True
            self.stages.before_backward(window, loss, where)
            value, scale = self._loss_value(window, loss)
            slot = None
            if len(losses) > 1:
                value, slot, grad_tensors = self._several(window, losses, grad_tensors)
            self.closures.before_backward(where)
            reached = self.gradients.before_backward(loss, where)
            self.ranks.before_backward(reached, where, value)
            if not self.named or self._replaced(window):
                self._name_everything(reached)
            tape = None
            if window is not None:
                tape = finish(window, loss, where, value, slot)
                self.early |= window.borrowed and any(w.sparse for w in window.earlier)
                tape.scale = scale
                if tape.reason and "before the recording began" in tape.reason:
                    self.early = True
                tape.gradient = None if grad_tensors is None else grad_tensors
                if self.window_count < TAPES:
                    self.program.keep(self.window_count, tape)
                if window.traced:
                    stepfacts.of_step(self, window, loss, reached, where)
                    reshapes.of_step(self, window, loss)
                    writtenloss.observe(self, window, loss)
                    embeddings.observe(self, window, loss)
                    termvalues.observe(self, window, loss)
                    if self.window_count < 5:
                        sampling.observe(self, window, loss)
                    if self.window_count < 2:  # a loop without modules is traced from its second step
                        recurrences.observe(self, window, loss)
                    if self.window_count >= self.next_trace:
                        self.next_trace = self.window_count + max(1, self.window_count // 20)
            self.last_tape = tape
            self.observe("loss", value, where or "backward")
            self.observe("backward", {"retain_graph": bool(retain_graph)}, where or "backward")
            if not math.isfinite(value) and self.first_non_finite is None:
                self.first_non_finite = nonfinite.found_in_forward(self, tape, value, where)
            self.last_window, self.last_loss = window, loss
            # the mode stays on the stack: loss.backward() runs inside its handler, where torch has taken it off already
            self.recorder.window = None

    def _autocast(self, kind, where) -> None:
        if autocast_state()[2]:
            self.counts[(kind, where)] = self.counts.get((kind, where), 0) + 1

    def _several(self, window, losses, gradients) -> tuple:
        """(value, slot, None) of the sum that backward() over several tensors differentiates."""
        weights = list(gradients) if gradients is not None else [None] * len(losses)
        value = sum(float((t if g is None else t * g).detach().sum()) for t, g in zip(losses, weights))
        slot = joined(window, losses, weights) if window is not None and window.taped else None
        if window is not None and slot is None:
            window.drop("backward() was called on tensors that were not seen being computed")
        return value, slot, None

    def _loss_value(self, window, loss) -> tuple[float, float]:
        value = float(loss.detach().sum()) if loss.numel() else math.nan
        scale = 1.0
        if window is not None and window.scaled is not None and window.scaled[0] is loss:
            scale = window.scaled[1] or 1.0
        return value / scale, scale

    def after_backward(self, where) -> None:
        with self._guard():
            self._event("backward", where, data_window=self.window_count)
            self.gradients.after_backward(self.last_window, where)
            self.closures.after_backward()
            self.ranks.after_backward(self.gradients.reached)
            self.forward.retire(self.last_window)
            self.last_window = self.last_loss = None
            self.window_count += 1
            self.early |= not self.optimizers  # nobody else will move the weights: the loop does it by hand
            if not self.stepped_since_backward:
                self.clock += 1  # no optimizer steps between: backward passes are the iterations
            self.stepped_since_backward = False
            if self.early and self.awake:  # not where the watch was stopped inside of this backward()
                self.forward.open()
            if self.ledger is not None and self.ledger.due(self.window_count):
                self._keep()

    def functional_grad(self, outputs, inputs, where, gradients=None) -> None:
        """A function gave the gradients. gradients: None where they are differentiated again."""
        with self._guard():
            self._event("autograd.grad", where)
            if gradients is not None:
                loss = outputs if isinstance(outputs, torch.Tensor) else tuple(outputs)[0]
                wanted = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
                lossterms.note_cut(self, loss, wanted, gradients, where)
                if all(isinstance(t, torch.Tensor) and t.is_leaf for t in wanted):
                    self.gradients.functional_grad(loss, wanted, where, gradients)

    def _replaced(self, window) -> bool:
        """Whether the models in use changed since everything was named: named again a while later, when the old one is surely unused."""
        if self.window_count == self.rename_at:
            return True
        if window is not None and any(key not in self.named_roots for key in window.roots):
            self.named_roots.update(window.roots)
            self.rename_at = self.window_count + facts.RECENT + 1
            return True
        return False

    def _name_everything(self, reached) -> None:
        """Names of modules and parameters, once, at the first backward; masters of leaves and optimizers too."""
        self.named = True
        self.named_roots.update(self.root_last)
        facts.name_everything(self, reached)
        self.checkpoints.training_begins(self.tops)
        for leaf in reached:
            self.program.know_leaf(leaf)
        for optimizer in list(self.optimizers.values()):
            self.program.know_optimizer(optimizer)

    def root_label(self, window) -> str:
        return type(window.calls[0][0]).__name__ if window.calls else ""

    def name(self, parameter: torch.Tensor) -> str:
        known = self.program.names.get(id(parameter))
        if known is None:
            known = self.program.names[id(parameter)] = facts.name_late(self, parameter)
        return known

    # ------------------------------------------------------------------ optimizers and the rest of the loop
    def optimizer_made(self, optimizer, where) -> None:
        self.optimizers[id(optimizer)] = optimizer
        self.optimizer_places[id(optimizer)] = where
        self.stages.optimizer_made(optimizer)
        with self._guard():
            self.settings.optimizer_made(optimizer)
            if self.named:
                self.program.know_optimizer(optimizer)

    def before_step(self, optimizer, where, closure) -> None:
        self.recorder.settle()
        with self._guard():
            self.optimizers.setdefault(id(optimizer), optimizer)
            self.program.know_optimizer(optimizer)
            settings = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
            self.settings.steps(optimizer)
            self._autocast("step_in_autocast", where)
            event = self._event("step", where, id(optimizer), settings=[dict(s) for s in settings], closure=closure)
            held = self.gradients.before_step(optimizer, where, closure)
            if closure:
                self.closures.before_step(optimizer, held, event)
            self.ranks.before_step(optimizer)
            for at, group in enumerate(settings):
                if isinstance(group.get("lr"), (int, float, torch.Tensor)):
                    self.observe("learning_rate", float(group["lr"]), facts.group_name(self, optimizer, at))
        if not closure and not getattr(self, "_paused_for_step", False):  # it is where the last step() raised
            self.recorder.paused += 1
            self._paused_for_step = True

    def after_step(self, optimizer, where) -> None:
        if getattr(self, "_paused_for_step", False):
            self.recorder.paused -= 1
            self._paused_for_step = False
        with self._guard():
            self.closures.after_step(optimizer, where)
            self.gradients.after_step(optimizer, where)
            self.step_count += 1
            self.clock += 1
            self.stepped_since_backward = True
        if self.limit is not None and self.step_count >= self.limit:
            raise SystemExit(0)

    def cleared(self, parameters, where, key) -> None:
        self.recorder.settle()
        with self._guard():
            self._event("zero", where, key[1], parameters=[id(p) for p in parameters])
            self.gradients.cleared(parameters, where)

    def gradient_norm(self, parameters) -> float:
        with self.quiet(), Undisturbed():
            grads = [p.grad for p in parameters if p.grad is not None]
            return math.sqrt(sum(meters.norm(g) ** 2 for g in grads)) if grads else 0.0

    def clipped(self, parameters, limit, before, where, function) -> None:
        with self._guard():
            after = self.gradient_norm(parameters)
            self._event("clip", where, 0, function=function, limit=float(limit), parameters=[id(p) for p in parameters])
            self.observe("clip", {"limit": float(limit), "before": before, "after": after,
                                  "scale": self.gradients.scale_now()}, where or "clip")
            self.gradients.clipped = True
            self.gradients.looked_at |= not math.isfinite(limit)  # so the norm is measured

    def scheduled(self, scheduler, where) -> None:
        with self._guard():
            optimizer = getattr(scheduler, "optimizer", None)
            self.settings.scheduled(optimizer, where)
            self._event("schedule", where, id(optimizer))
            lr = [float(g["lr"]) for g in optimizer.param_groups] if optimizer is not None else []
            self.observe("schedule", {"kind": type(scheduler).__name__, "lr": lr, "steps_done": self.step_count}, where or "scheduler")

    def scaler_call(self, name, scaler, args, result, where) -> None:
        with self._guard():
            if name == "scale" and isinstance(result, torch.Tensor) and self.recorder.window is not None:
                self.recorder.window.scaled = (result, float(scaler.get_scale()))
            elif name == "unscale_":
                self._event("unscale", where, id(args[0]) if args else 0)
                self.gradients.unscaled = True
            self.gradients.scaler = scaler

    def mode_switch(self, module, mode, where) -> None:
        if not self.recorder.paused and where is not None:
            self._event("train" if mode else "eval", where, id(module))


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else "?"
