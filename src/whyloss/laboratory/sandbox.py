"""Where experiments run: arms copied from the captured program, trained on its batches, everything left as found.

Rules: the user's objects are never touched; the random state of the process is restored; control and changed arm start
from the same state, see the same batches in the same order, under the same random state.
"""

import contextlib
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import torch

from whyloss.errors import CannotReplay
from whyloss.sources import clock
from whyloss.sources.program import Arm, Program
from whyloss.sources.tape import Tape

SEED = 20240607
COLLAPSED = 1e12


@contextlib.contextmanager
def untouched(*, one_thread: bool = False):
    """Random states of torch, Python and NumPy, threads and gradient mode as they were.

    one_thread  for small models: waking a second thread costs more than it computes
    """
    import numpy

    torch_state, python_state, numpy_state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    grad, threads = torch.is_grad_enabled(), torch.get_num_threads()
    try:
        torch.set_grad_enabled(True)
        if one_thread:
            torch.set_num_threads(1)
        yield
    finally:
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        numpy.random.set_state(numpy_state)
        torch.set_grad_enabled(grad)
        torch.set_num_threads(threads)


@dataclass
class Plan:
    """How an arm is trained. One field is the change; all others are the user's.

    loop         "recorded": the loop's calls as seen; "canonical": clear, backward, step
    make_optimizer  (arm, parameters) -> optimizer, in place of the user's
    rate         (step, recorded rate) -> rate, or None for the recorded one
    swap         (node, args, kwargs) -> args, kwargs before each node of the tape
    around       context manager factory entered around each forward and backward
    prepare      called with the fresh arm before training
    loss_scale   what is differentiated is loss * loss_scale; the curve shows the loss itself
    norm         of all gradients at each step at most: a cut that the script makes by hand, which no tape holds
    settings     optimizer settings overridden ({"weight_decay": 0.0})
    own_schedule the optimizer of `make_optimizer` goes at the learning rates that the user's first group had, step by step
    """

    loop: str = "recorded"
    make_optimizer: Callable | None = None
    rate: Callable | None = None
    swap: Callable | None = None
    around: Callable | None = None
    prepare: Callable | None = None
    loss_scale: float = 1.0
    settings: dict = field(default_factory=dict)
    clipping: bool = True
    norm: float | None = None
    unscale_first: bool = False
    change_constant: Callable | None = None
    windows: list[int] | None = None
    train_mode: bool | None = None
    freeze_schedule: bool = False
    own_schedule: bool = False

    def over(self, base: "Plan") -> "Plan":
        """This change on top of another one: what it leaves at the user's is as in `base`; hooks of both run, the base's first."""
        plain = Plan()
        merged = {f.name: getattr(base if getattr(self, f.name) == getattr(plain, f.name) else self, f.name) for f in fields(Plan)}
        merged["settings"] = {**base.settings, **self.settings}
        merged["loss_scale"] = base.loss_scale * self.loss_scale
        if self.prepare and base.prepare:
            merged["prepare"] = lambda arm: (base.prepare(arm), self.prepare(arm))
        if self.around and base.around:
            merged["around"] = lambda: _both(base.around, self.around)
        if self.swap and base.swap:
            merged["swap"] = lambda node, args, kwargs: self.swap(node, *base.swap(node, args, kwargs))
        if self.change_constant and base.change_constant:
            merged["change_constant"] = lambda key, tensor: self.change_constant(key, base.change_constant(key, tensor))
        return Plan(**merged)


@contextlib.contextmanager
def _both(outer: Callable, inner: Callable):
    with outer(), inner():
        yield


class Rehearsal:
    """Trains one arm of a program along a plan."""

    def __init__(self, program: Program, plan: Plan, main: str | None = None, *, arm: Arm | None = None):
        self.program, self.plan = program, plan
        self.arm = arm or program.fresh()
        self.arm.bindings.change_constant = plan.change_constant
        self.arm.bindings.force_training = plan.train_mode
        tapes = program.whole_tapes()
        wanted = plan.windows if plan.windows is not None else list(tapes)
        self.tapes: dict[int, Tape] = {at: tapes[at] for at in wanted if at in tapes}
        if not self.tapes:
            raise CannotReplay("no whole training step was captured")
        self.main = main if any(t.place == main for t in self.tapes.values()) else None
        if plan.prepare is not None:
            plan.prepare(self.arm)
        self.optimizers = dict(self.arm.optimizers)
        self.own = None
        if plan.make_optimizer is not None:
            self.own = plan.make_optimizer(self.arm, trainable(self.arm, self.tapes))
            self.optimizers = {0: self.own}
        for optimizer in self.optimizers.values():
            if isinstance(optimizer, torch.optim.LBFGS):  # it keeps its parameters a second time, which no copy takes along
                optimizer._params, optimizer._numel_cache = optimizer.param_groups[0]["params"], None
            for group in optimizer.param_groups:
                group.update({k: v for k, v in plan.settings.items() if k in group})
        # kinds that ask for the loss and its gradient once more inside of their step: L-BFGS anew, others in between
        self.asking = {type(self.arm.optimizers[e.key]) for e in program.events
                       if e.kind == "step" and e.data.get("closure") and e.key in self.arm.optimizers}
        self.iterations = self._iterations()
        self.rates = self._recorded_rates() if plan.own_schedule and self.own is not None else {}
        self.steps = self.at = 0
        self.losses: list[float] = []
        self.pending_scale = 1.0

    # ------------------------------------------------------------------ the loop
    def _iterations(self) -> list[list]:
        """Events grouped so that each group ends the moment another backward of a captured window follows a step."""
        last = max(self.tapes)
        events = [e for e in self.program.events if e.window <= last + 1
                  and e.kind in ("backward", "step", "zero", "clip", "unscale", "update")]
        if self.plan.loop == "canonical" or self.own is not None:
            return self._canonical(events)
        groups, group, seen, inside = [], [], False, -1
        for event in events:
            called = event.kind == "step" and event.data.get("calls")  # the backward passes of a closure belong to its step
            if event.window <= inside and not called:
                continue
            inside = event.data["last"] if called else inside
            if event.kind == "backward" or called:
                if event.window not in self.tapes:
                    continue
                if seen:
                    groups.append(group)
                    group = []
                seen = True
            if event.kind in ("step", "clip", "unscale", "zero", "update") and event.window > last + 1:
                continue
            group.append(event)
        return groups + ([group] if seen else [])

    def _recorded_rates(self) -> dict[int, float]:
        """The learning rate of the first group at the step after each captured backward: a warm-up begins near 0."""
        rates, open_ = {}, []
        for event in self.program.events:
            if event.kind == "backward":
                open_.append(event.window)
            elif event.kind == "step" and event.data.get("settings"):
                rate = event.data["settings"][0].get("lr")
                rates.update(dict.fromkeys(open_, float(rate) if rate is not None else 0.0))
                open_ = []
        return rates

    def _canonical(self, events) -> list[list]:
        """[windows..., optimizers...] per iteration: what belongs to one step of the loop."""
        groups, windows, steppers = [], [], []
        for event in events:
            if event.kind == "backward" and event.window in self.tapes:
                if steppers:
                    groups.append(("iteration", windows, steppers))
                    windows, steppers = [], []
                windows.append(event.window)
            elif event.kind == "step" and windows and event.key in self.optimizers and event.key not in steppers:
                steppers.append(event.key)
        if windows:
            groups.append(("iteration", windows, steppers))
        if not any(s for _, _, s in groups):  # no optimizer ever stepped: each backward is an iteration of its own
            groups = [("iteration", [at], []) for at in self.tapes]
        return groups

    def train(self, steps: int, deadline: float, tick: Callable | None = None) -> list[float]:
        """Run `steps` iterations. -> the main loss of each; a non-finite loss ends the run with inf."""
        if self.at == 0:  # a second call goes on where the first one stopped
            torch.manual_seed(SEED)
            random.seed(SEED)
        while self.steps < steps:
            group = self.iterations[self.at % len(self.iterations)]
            self.at += 1
            with self.plan.around() if self.plan.around else contextlib.nullcontext():
                alive = self._run_group(group)
            self.steps += 1
            if tick is not None:
                tick(self.steps, steps)
            if not alive:
                self.losses.append(math.inf)
                break
            if clock.now() > deadline:
                break
        return self.losses

    def _run_group(self, group) -> bool:
        if isinstance(group, tuple):
            return self._run_canonical(*group[1:])
        alive = True
        for event in group:
            if event.kind == "backward":
                alive &= self._backward(event.window)
            elif event.kind == "zero":
                for key in event.data["parameters"]:
                    leaf = self.arm.leaves.get(key)
                    if leaf is not None:
                        leaf.grad = None
            elif event.kind == "clip" and self.plan.clipping:
                self._clip(event)
            elif event.kind == "unscale":
                self._unscale()
            elif event.kind == "step":
                alive &= self._step(event)
            elif event.kind == "update":
                with torch.no_grad():
                    event.data["tape"].run(self.arm.bindings)
        return alive

    def _run_canonical(self, windows, steppers) -> bool:
        optimizers = [self.own] if self.own is not None else [self.optimizers[k] for k in steppers if k in self.optimizers] or \
            list(self.optimizers.values())
        for leaf in self.arm.leaves.values():
            leaf.grad = None
        closure_kind = any(type(o).__name__ == "LBFGS" for o in optimizers)
        if closure_kind:
            return self._closure_step(optimizers[0], windows[-1])
        alive = all([self._backward(at) for at in windows])
        self._unscale()
        for optimizer in optimizers:
            self._rates(optimizer, None)
            if self.rates.get(windows[-1], 0.0) > 0:
                for group in optimizer.param_groups:
                    group["lr"] = self.rates[windows[-1]]
            if type(optimizer) in self.asking:
                optimizer.step(lambda: self._again(windows[-1]))
            else:
                optimizer.step()
        return alive

    def _again(self, window: int) -> torch.Tensor:
        with torch.enable_grad():
            loss = self.tapes[window].replay(self.arm.bindings, swap=self.plan.swap)
            loss.backward()
        return loss

    def _closure_step(self, optimizer, window: int, clears: bool = True) -> bool:
        self._rates(optimizer, None)
        seen = []

        def closure():
            if clears:
                optimizer.zero_grad()
            loss = self.tapes[window].replay(self.arm.bindings, swap=self.plan.swap)
            loss.backward()
            seen.append(float(loss.detach()))
            return loss

        optimizer.step(closure)
        self.losses.append(seen[0] if seen else math.inf)
        return bool(seen) and math.isfinite(seen[-1])

    def _backward(self, window: int) -> bool:
        tape = self.tapes[window]
        loss = tape.replay(self.arm.bindings, swap=self.plan.swap)
        value = float(loss.detach().sum()) / tape.scale
        if self.main is None or tape.place == self.main:
            self.losses.append(value)
        if not loss.requires_grad:
            return math.isfinite(value)
        if tape.gradient is not None or loss.numel() != 1:
            gradient = tape.gradient[0] if isinstance(tape.gradient, (tuple, list)) else tape.gradient
            loss.backward(gradient if gradient is not None else torch.ones_like(loss))
        else:
            (loss * self.plan.loss_scale if self.plan.loss_scale != 1.0 else loss).backward()
        self.pending_scale = tape.scale
        return math.isfinite(value) and abs(value) < COLLAPSED

    def _unscale(self) -> None:
        if self.pending_scale != 1.0:
            for leaf in self.arm.leaves.values():
                if leaf.grad is not None:
                    leaf.grad.div_(self.pending_scale)
            self.pending_scale = 1.0

    def _clip(self, event) -> None:
        if self.plan.unscale_first:
            self._unscale()
        held = [self.arm.leaves[k] for k in event.data["parameters"] if k in self.arm.leaves]
        held = [p for p in held if p.grad is not None]
        if held:
            event.data["function"](held, event.data["limit"])

    def _step(self, event) -> bool:
        optimizer = self.optimizers.get(event.key)
        if optimizer is None:
            return True
        self._unscale()
        self._rates(optimizer, event)
        if event.data.get("closure"):
            window = max((w for w in self.tapes if w <= event.window), default=min(self.tapes))
            return self._closure_step(optimizer, window, clears=not event.data.get("kept"))
        else:
            if self.plan.norm is not None:
                torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], self.plan.norm)
            optimizer.step()
        return True

    def _rates(self, optimizer, event) -> None:
        recorded = event.data["settings"] if event is not None and not self.plan.freeze_schedule else None
        for at, group in enumerate(optimizer.param_groups):
            if recorded is not None and at < len(recorded):
                group.update({k: v for k, v in recorded[at].items() if k != "params" and k not in self.plan.settings})
            if self.plan.rate is not None:
                group.setdefault("_first_rate", float(group["lr"]))
                base = float(recorded[at]["lr"]) if recorded is not None and at < len(recorded) else group["_first_rate"]
                group["lr"] = self.plan.rate(self.steps, base)


def trainable(arm: Arm, tapes: dict[int, Tape]) -> list[torch.Tensor]:
    """Leaves that want a gradient: of the modules the tapes call, and the loose ones they use."""
    return [leaf for leaf in arm.leaves.values() if leaf.requires_grad and leaf.is_floating_point()]
