"""Freezing steps of a watched training into files: some steps from now on, or the one that has just failed.

While steps are frozen they are watched as `whyloss run` watches them; the sampling rests meanwhile, and what it takes is
told apart from the budget (`cost.freezing`). Whatever fails in here is told, and the training and its watching go on.
"""

import math
import os
import sys
from pathlib import Path
from time import perf_counter

import torch

from whyloss.alerts import StopTraining
from whyloss.evidence import Evidence
from whyloss.observation import Run
from whyloss.sources.monitor import ears
from whyloss.sources.monitor.rolling import Rolling, in_words
from whyloss.sources.monitor.snapshots import Snapshot, Snapshots, go_back

STEPS = 40                      # steps that a file holds; experiments train on as many backward passes
PARTS = 8                       # backward passes of one step that are waited for
WITHOUT_STEP = 16               # backward passes more, for which the first step of an optimizer is waited for
BYTES = 512 * 2**20             # of batches in one file
AUTOMATIC = 3                   # files written without being asked for each
RENEWED = 512 * 2**20           # a bigger file is not written again at the end
SERIOUS = frozenset({"loss-diverging", "loss-spike", "gradient-growing", "gradient-zero"})  # and whatever is not finite: that step itself
GONE_WRONG = frozenset({"loss-diverging", "loss-spike", "gradient-growing"})             # the weights of now are past helping
SUFFIX = ".whyloss"
_capturing: list = []           # the capture of this process; two would hear of each other's work
_children: list = []            # whether forks are heard of


class Freezer:
    """Part of a Monitor. where: folder or file for what is frozen at alerts; None: only what is asked for."""

    def __init__(self, monitor, where=None):
        self.monitor = monitor
        self.where = None if where is None else Path(where)
        self.rolling: Rolling | None = None
        self.capture: Capture | None = None
        self.asked: list[tuple] = []
        self.files: list[Path] = []
        self.written: list[Capture] = []
        self.automatic = 0
        self.broken = False       # something was not finite
        self.snapshots: Snapshots | None = None
        self.recorders: list = []
        self.taken = 0.0

    # ------------------------------------------------------------------ on and off
    def attach(self) -> None:
        if self.monitor.stop_on_nonfinite or self.where is not None:
            self.rolling = Rolling(self.monitor)
            self.recorders = [self.rolling.recorder]
            if self.rolling.closed_because:
                self.monitor.sampler.closed["the step"] = self.rolling.closed_because
            self.rolling.put_on()
        if self.where is not None:
            self.snapshots = Snapshots(self.monitor)

    def close(self) -> None:
        """What is not yet written is written; every hook is taken off."""
        began = perf_counter()
        if self.capture is not None:
            self._end()
        elif self.asked:
            self.monitor._say("freeze", f"{self.asked[0][0]} was not written: the training ended before its next step")
        for capture in self.written:
            self._attempt(capture.renew)
        self.written = []
        self.drop()
        self.taken += perf_counter() - began

    def unpatch(self) -> None:
        """Before the monitor takes off its own: what was put on last is taken off first."""
        self.settle()
        if self.capture is not None:
            self._attempt(self.capture.stop)

    def drop(self) -> None:
        """Take everything off, write nothing."""
        if self.capture is not None:
            self._attempt(self.capture.stop)
            self.capture = None
        if self.rolling is not None:
            self.rolling.take_off()
        self.asked = []

    def settle(self) -> None:
        """Take off what could not be taken off inside of backward()."""
        for recorder in self.recorders:
            recorder.settle()

    def _attempt(self, action, *args):
        try:
            return action(*args)
        except Exception as error:  # a full disk, a class of the user's that cannot be copied
            self.monitor._say("freeze", f"the step was not frozen, the training goes on: {type(error).__name__}: {error}")
            return None

    @property
    def seconds(self) -> float:
        """What recording, replaying and writing took."""
        return self.taken + (self.rolling.seconds + self.rolling.recorder.spent if self.rolling is not None else 0.0) + \
            (self.snapshots.spent if self.snapshots is not None else 0.0)

    # ------------------------------------------------------------------ what is asked for
    def ask(self, path, reason: str, steps: int) -> None:
        self.asked.append((Path(path), reason, steps))
        self.begin()

    def begin(self) -> None:
        """At once, before the training; later on a step may be under way, and its end is waited for."""
        monitor = self.monitor
        if self.asked and monitor.attached and not monitor.steps and not monitor._losses and monitor._inside is None:
            self._begin()

    def _file(self, path: Path, reason: str) -> Path:
        """A file that is not there yet, unless its name was given. Each rank has its own."""
        if self.monitor._world > 1:
            path = path.with_name(f"{path.stem}-rank{self.monitor._rank}{SUFFIX}") if path.suffix == SUFFIX else path / f"rank{self.monitor._rank}"
        if path.suffix == SUFFIX:
            return path if reason == "asked" else _unused(path)
        return _unused(path / f"{'step' if reason == 'asked' else reason}-{self.monitor.step}{SUFFIX}")

    def alerted(self, alert) -> None:
        """An alert was raised."""
        if self.where is None or alert.kind not in SERIOUS or self.automatic >= AUTOMATIC or self.capture is not None or self.asked:
            return
        self.automatic += 1
        self.asked.append((self.where, alert.kind, STEPS))

    # ------------------------------------------------------------------ heard
    def before_backward(self, tensors) -> None:
        if self.capture is not None:
            if not self.capture.watch.step_count and self.capture.over():
                self._end()  # no optimizer steps in this loop
        elif self.rolling is not None and self.rolling.on:
            self.rolling.backward(tensors)

    def before_step(self, optimizer, args, kwargs) -> None:
        self.settle()
        if self.capture is not None:
            self._attempt(self.capture.watch.patches.before_step, optimizer, args, kwargs)
        elif self.rolling is not None and self.rolling.on:
            if len(args) < 2 and not kwargs and self.monitor._mine(optimizer) is not None:
                self._look_at_gradient(optimizer)

    def _look_at_gradient(self, optimizer) -> None:
        """A step is about to be made. Raises StopTraining where that was asked for."""
        monitor, began = self.monitor, perf_counter()
        if self.broken or any(type(value) is float and not math.isfinite(value) for value in monitor._losses):
            return  # it follows from the loss, which was told
        try:
            bad = self.rolling.bad_gradient(optimizer)
            if bad:
                monitor._judge_losses()
                for alert in monitor._alarms.gradient(monitor.step, [monitor.sampler.names.get(id(p), "a tensor") for p in bad]):
                    value = monitor._losses[-1] if monitor._losses else math.nan
                    monitor._raise_or_stop(alert.saying(self.failed(float(value), parameters=bad)))
        except StopTraining:
            monitor.close()
            raise
        except Exception as error:
            monitor._fail(error)
        finally:
            monitor.pace.since += perf_counter() - began

    def after_step(self, optimizer, args, kwargs) -> None:
        """After the monitor itself has heard of it: between two steps nothing is under way."""
        if self.rolling is not None:
            self.rolling.stepped()
        if self.capture is None and not self.asked:
            if self.snapshots is not None and self.snapshots.due(self.monitor.step) and not self.broken and not self.automatic:
                self._attempt(self.snapshots.take, self.monitor.step, self._optimizers())
                self.monitor.pace.last, self.monitor.pace.since = perf_counter(), 0.0
            return
        if self.capture is not None:
            self._attempt(self.capture.watch.patches.after_step, optimizer, args, kwargs)
            if self.capture.full():
                self._end()
        if self.capture is None and self.asked and self.monitor._mine(optimizer) is not None:
            self._begin()
        self.monitor.pace.last, self.monitor.pace.since = perf_counter(), 0.0  # not the training's time, nor the budget's

    def _begin(self) -> None:
        if _capturing:
            return
        path, reason, steps = self.asked.pop(0)
        if _watched():
            self.monitor._say("freeze", "whyloss run watches this script already and reports at its end: no step is frozen")
            return
        began = perf_counter()
        for monitor in {self.monitor, *ears.listening()}:  # what they compute in hooks would be taken for the training's
            monitor.sampler.drop()
            monitor.wants_before = monitor._keeps_before
            if monitor.freezer is not None and monitor.freezer.rolling is not None:
                monitor.freezer.rolling.take_off()
        capture = Capture(self.monitor, self._file(path, reason), reason, steps)
        if reason in GONE_WRONG and self.snapshots is not None:
            capture.snapshot = self.snapshots.before(self.monitor.step)
        if self._attempt(capture.start) is None:
            self._roll_on()
        else:
            self.capture = capture
            self.recorders = [*self.recorders[-3:], capture.watch.recorder]
        self.taken += perf_counter() - began

    def _end(self) -> None:
        capture, self.capture = self.capture, None
        began = perf_counter()
        if self._attempt(capture.write) is not None:
            self.files.append(capture.path)
            self.written.append(capture)
            self._tell(capture.path, capture.problem, f"{capture.count} backward passes from step {capture.first} on")
        self._attempt(capture.stop)
        self.taken += perf_counter() - began + capture.watch.recorder.spent
        self._roll_on()

    def _roll_on(self) -> None:
        for monitor in {self.monitor, *ears.listening()}:
            freezer = monitor.freezer
            if freezer is not None and freezer.rolling is not None and monitor.attached and not freezer.broken:
                freezer.rolling.put_on()

    def _optimizers(self) -> list:
        known = [known.optimizer() for known in self.monitor.sampler.known.values()]
        return [optimizer for optimizer in known if optimizer is not None]

    def _tell(self, path: Path, problem: str | None, what: str) -> None:
        said = f"{what}: whyloss diagnose {path}"
        print(f"whyloss: froze {said}" + (f" (without the step itself: {problem})" if problem else ""), file=sys.stderr)

    # ------------------------------------------------------------------ a step that failed
    def failed(self, value: float, *, parameters=()) -> str:
        """A loss, or gradients, are not finite. -> which operation made it, in words; empty where that is not known"""
        if self.capture is not None:
            self.broken = True
            return in_words(self.capture.watch.first_non_finite or {}, self.capture.watch)
        if self.rolling is None or self.broken:
            return ""  # what is not finite after the first time follows from it
        self.broken, began = True, perf_counter()
        optimizers = self._optimizers()
        found, watch = self._attempt(lambda: self.rolling.explain(value, parameters=parameters, optimizers=optimizers)) or ({}, None)
        if self.where is not None:
            self._attempt(self._save_failed, found, watch, value)
        self.rolling.take_off()
        spent = perf_counter() - began
        self.taken += spent
        self.monitor.pace.since -= spent  # its caller counts it too
        self.monitor.pace.last += spent
        return in_words(found, watch) if watch is not None else ""

    def _save_failed(self, found: dict, watch, value: float) -> None:
        from whyloss.sources.frozen.writing import freeze

        monitor, program = self.monitor, watch.program if watch is not None else None
        step, reason = monitor.step, "gradient-not-finite" if found.get("phase") == "backward" else "loss-not-finite"
        evidence = monitor._history.evidence()
        if step not in evidence.series("loss").steps and found.get("loss") is not None:
            evidence.add("loss", found["loss"], step=step)
        evidence.runs["main"] = Run("main", "watched", settings={"torch": str(torch.__version__)})
        problem = found.get("reason") if program is None else None
        if program is not None:
            from whyloss.sources.program import Event

            tape = next(iter(program.tapes.values()))
            evidence.add("main_loss_place", tape.place)
            evidence.add("first_non_finite", found, step=step)
            program.log(Event("backward", tape.place, 0))
            for key, optimizer in program.optimizers.items():
                settings = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
                program.log(Event("step", tape.place, 0, key, {"settings": settings, "closure": False}))
        path = self._file(self.where, reason)
        about = {"step": step, "steps": 1, "reason": reason, "problem": problem}
        snapshot = self.snapshots.before(step) if self.snapshots is not None else None
        if snapshot is not None and program is not None and program.ready() is None:
            go_back(program, snapshot)  # the failing step itself is kept apart, with the weights it failed with
            about["weights"] = snapshot.step
        self._tell(path, freeze(path, program, evidence, about), f"step {step}, which failed")
        self.files.append(path)


class Capture:
    """Some steps, watched as `whyloss run` watches them, for a file."""

    def __init__(self, monitor, path: Path, reason: str, steps: int):
        from whyloss.sources.watch import Watch

        self.monitor, self.path, self.reason, self.steps = monitor, path, reason, steps
        self.watch = Watch()
        self.problem: str | None = None
        self.snapshot: Snapshot | None = None    # the weights to begin with, where those of now are past helping
        self.count = 0
        self.first = self.watch.clock = self.watch.program.first_step = monitor.step

    def start(self) -> "Capture":
        self.watch.patches.hooks = False  # the monitor's own hooks tell of the steps
        for known in self.monitor.sampler.known.values():
            optimizer = known.optimizer()
            if optimizer is not None:
                self.watch.optimizers[id(optimizer)] = optimizer
        for optimizer in self.monitor.given or ():
            self.watch.optimizers[id(optimizer)] = optimizer
        if not _capturing and not _children:
            _children.append(True)
            getattr(os, "register_at_fork", lambda **_: None)(after_in_child=_only_loads)
        _capturing.append(self)
        self.watch.start()
        return self

    def full(self) -> bool:
        """Whether as many steps were seen as were asked for, or their batches take too much room."""
        tapes = self.watch.program.tapes.values()
        batches = {id(t): t.numel() * t.element_size() for tape in tapes for t in tape.constants.values()}
        return self.over() or not self.watch.awake or sum(batches.values()) > BYTES

    def over(self) -> bool:
        steps, backward = self.watch.step_count, self.watch.window_count
        return steps >= self.steps or backward >= (PARTS * self.steps if steps else self.steps + WITHOUT_STEP)

    def stop(self) -> None:
        if self in _capturing:
            _capturing.remove(self)
        self.watch.stop()
        self.watch.recorder.remove()
        self.watch.patches.remove()  # where an error of ours has ended the watch
        self.watch.recorder.settle()

    def write(self) -> "Capture":
        from whyloss.sources.frozen.writing import freeze

        self.stop()
        watch = self.watch
        self.count = watch.window_count
        if watch.errors:
            watch.observe("watch_errors", list(watch.errors))
        about = {"step": self.first, "steps": self.count, "reason": self.reason, "problem": None}
        if self.snapshot is not None and watch.program.ready() is None and self.monitor._world == 1 and self._faithful():
            go_back(watch.program, self.snapshot)
            about["weights"] = self.snapshot.step
        self.problem = freeze(self.path, watch.program if self.count else None, self._evidence(), about)
        self.known = self._last()
        return self

    def _faithful(self) -> bool:
        from whyloss.sources.attach import _silence
        from whyloss.sources.probe import as_found

        with as_found(), _silence():
            return self.watch.program.check_faithful() is None

    def _evidence(self) -> Evidence:
        return joined(self.monitor._history.evidence(), self.watch.evidence)

    def _last(self) -> int:
        return max(self.monitor._history.evidence().series("loss").steps, default=-1)

    def renew(self) -> None:
        """The training went on: its later losses belong to what is judged."""
        from whyloss.sources.frozen.file import renew

        if self._last() > self.known and self.path.is_file() and self.path.stat().st_size <= RENEWED:
            renew(self.path, self._evidence())


def joined(history: Evidence, seen: Evidence) -> Evidence:
    """What was seen in the frozen steps, with the losses of all other steps around it.

    Only where both mean the same number: the losses of one step are one number to the history, and may be several in the loop.
    """
    whole = Evidence()
    whole.runs = dict(seen.runs)
    for (run, quantity, subject), column in (seen if len(seen) else history).columns():
        points = list(zip(column.steps, column.values))
        if run == "main" and subject == "run" and quantity in ("loss", "val_loss"):
            points = _around(history.series(quantity), points, quantity == "loss")
        for step, value in points:
            whole.add(quantity, value, subject=subject, step=step, run=run)
    if not whole.has("val_loss"):
        for seen_one in history.series("val_loss"):
            whole.add("val_loss", seen_one.value, step=seen_one.step)
    return whole


def _around(series, points: list, comparable: bool) -> list:
    if not points or not series:
        return points
    known = dict(zip(series.steps, series.values))
    pairs = [(known[step], value) for step, value in points if step in known and isinstance(value, int | float)]
    if comparable and (len(pairs) < len(points) // 2 or sum(_alike(*pair) for pair in pairs) < 0.9 * len(pairs)):
        return _in_turn(series, points)
    first, last = points[0][0], points[-1][0]
    return [p for p in known.items() if p[0] < first] + points + [p for p in known.items() if p[0] > last]


def _alike(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * max(1.0, abs(b)) or a != a and b != b


def _in_turn(series, points: list) -> list:
    """Where the two count steps differently (two optimizers, several backward passes a step): matched by value, one after the other."""
    told, values = series.values, [value for _step, value in points]
    if series.steps != list(range(series.steps[0], series.steps[0] + len(told))):
        return points  # thinned
    for parts in range(1, PARTS + 1):
        sums = [sum(values[at:at + parts]) for at in range(0, len(values) - parts + 1, parts)]
        if len(sums) < 3:
            break
        for at in range(len(told) - len(sums) + 1):
            if all(_alike(a, b) for a, b in zip(told[at:], sums)):
                first = points[0][0]
                stride = parts * max(1, round((points[-1][0] - first) / (len(points) - 1)))
                around = [(first + (turn - at) * stride, value / parts) for turn, value in enumerate(told)]
                return around[:at] + points + around[at + len(sums):]
    return points


def _only_loads() -> None:
    """In a child process: it loads data, and what it computes is none of the training's."""
    for capture in _capturing:
        capture.watch.fork()


def capturing() -> bool:
    """Whether steps are being frozen in this process: nothing else may look into the model meanwhile."""
    return bool(_capturing)


def _unused(path: Path) -> Path:
    number, found = 2, path
    while found.exists():
        found, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    return found


def _watched() -> bool:
    """Whether `whyloss run` watches this process."""
    attach = sys.modules.get("whyloss.sources.attach")
    return bool(getattr(attach._state.get("watch"), "awake", False)) if attach is not None else False
