"""The captured training program: copies of the models and optimizers as they were before the first update, the first
steps' tapes, and the loop's calls in order. An experiment takes a fresh arm of it and trains that; the user's objects
are never touched.
"""

import contextlib
import copy
import io
import random
from dataclasses import dataclass, field

import torch

from whyloss.errors import CannotReplay
from whyloss.sources import copies
from whyloss.sources.tape import Bindings, Tape

TAPES = 40          # steps kept for experiments
EVENTS = 4000       # loop calls kept in order
COPY_LIMIT = 4 * 2**30  # bytes of parameters copied at most


@dataclass
class Event:
    """One call of the loop. kind: backward, step, zero, clip, schedule, unscale, train, eval."""

    kind: str
    place: str | None
    window: int
    key: int = 0
    data: dict = field(default_factory=dict)


@dataclass
class Arm:
    """One independent copy of everything that trains."""

    modules: dict[int, torch.nn.Module]
    leaves: dict[int, torch.Tensor]
    optimizers: dict[int, torch.optim.Optimizer]
    bindings: Bindings = None

    def __post_init__(self) -> None:
        if self.bindings is None:
            self.bindings = Bindings(self.modules, self.leaves)

    def parameters(self) -> list[torch.Tensor]:
        """Every leaf of the arm that wants a gradient."""
        return [leaf for leaf in self.leaves.values() if leaf.requires_grad]


class Program:
    """What was captured. `problem` says why nothing can be replayed, if so."""

    def __init__(self) -> None:
        self.memo: dict = {}
        self.modules: dict[int, torch.nn.Module] = {}
        self.leaves: dict[int, torch.Tensor] = {}
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.originals: dict[int, object] = {}
        self.names: dict[int, str] = {}
        self.tapes: dict[int, Tape] = {}
        self.events: list[Event] = []
        self.problem: str | None = None
        self.failing: tuple | None = None  # the step that made the first non-finite value: (tape, modules, leaves)
        self.holdout: list = []            # pairs of the last evaluation, see holdout.py
        self.first_step = 0                # of the training, when the copies were made

    # ------------------------------------------------------------------ capture
    def know_module(self, module: torch.nn.Module) -> None:
        """Copy a root module the first time it is called, before its forward runs."""
        if id(module) in self.modules or self.problem:
            return
        if any(map(torch.nn.parameter.is_lazy, module.parameters())):
            return  # it gets its weights in this call: the next one finds them, and those that an optimizer moves first are kept by know_optimizer
        size = sum(p.numel() * p.element_size() for p in module.parameters())
        if size > COPY_LIMIT:
            self.problem = f"a copy of the model needs {size / 2**30:.1f} GiB, the limit is {COPY_LIMIT >> 30} GiB"
            return
        try:
            self._own_tensors(module)
            with unnoticed():
                twin = copy.deepcopy(module, self.memo)
        except Exception as error:
            self.problem = f"{type(module).__name__} cannot be copied: {type(error).__name__}: {error}"
            return
        for part in twin.modules():
            part.__dict__["_whyloss_copy"] = True
        self.modules[id(module)] = twin
        self.originals[id(module)] = module
        for original, duplicate in zip(module.parameters(), twin.parameters()):
            self.know_leaf(original, duplicate)

    def _own_tensors(self, module: torch.nn.Module) -> None:
        """Results a module keeps as plain attributes refuse deepcopy; they are copied by value."""
        for part in module.modules():
            for value in vars(part).values():
                if isinstance(value, torch.Tensor) and not value.is_leaf:
                    self.memo[id(value)] = value.detach().clone()
                    self.originals[id(value)] = value

    def know_leaf(self, leaf: torch.Tensor, duplicate: torch.Tensor | None = None) -> None:
        if id(leaf) in self.leaves:
            return
        if duplicate is None:
            duplicate = self.memo.get(id(leaf))
        if duplicate is None:
            duplicate = leaf.detach().clone().requires_grad_(leaf.requires_grad)
            self.memo[id(leaf)] = duplicate
        duplicate.grad = None
        self.leaves[id(leaf)] = duplicate
        self.originals[id(leaf)] = leaf

    def know_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Copy an optimizer before its first step; its tensors become the copies' tensors."""
        if id(optimizer) in self.optimizers or self.problem:
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.know_leaf(parameter)
        try:
            with unnoticed(), copies.whole():
                self.optimizers[id(optimizer)] = copy.deepcopy(optimizer, self.memo)
            self.originals[id(optimizer)] = optimizer
        except Exception as error:
            self.problem = f"{type(optimizer).__name__} cannot be copied: {type(error).__name__}: {error}"

    def keep(self, window: int, tape: Tape) -> None:
        self.tapes[window] = tape

    def log(self, event: Event) -> None:
        if len(self.events) < EVENTS:
            self.events.append(event)

    # ------------------------------------------------------------------ replay
    def ready(self) -> str | None:
        """None when experiments are possible, else the reason why not."""
        if self.problem:
            return self.problem
        whole = [tape for tape in self.tapes.values() if tape.whole]
        if not self.tapes:
            return "no training step was captured"
        if not whole:
            return next(tape.reason for tape in self.tapes.values()) or "the training step was not recorded completely"
        missing = [n.name for tape in whole for n in tape.nodes if n.module is not None and n.module not in self.modules]
        return f"{missing[0]} could not be copied" if missing else None

    def fresh(self) -> Arm:
        """A new, independent copy of the state before the first step. Ties and sharing are kept."""
        with copies.whole():
            modules, leaves, optimizers = copy.deepcopy((self.modules, self.leaves, self.optimizers), {})
        for key in self.inputs():
            del leaves[key]
        return Arm(modules, leaves, optimizers)

    def inputs(self) -> set[int]:
        """Leaves that want a gradient and are no parameters: points to differentiate at, adversarial inputs.

        In a loop of raw tensors alone every leaf is a parameter.
        """
        held = {id(p) for o in self.optimizers.values() for group in o.param_groups for p in group["params"]}
        parameters = {key for key, leaf in self.leaves.items() if isinstance(self.originals[key], torch.nn.Parameter) or id(leaf) in held}
        if not parameters:
            return set()
        loose = self.leaves.keys() - parameters
        return {key for key in loose if any(key in tape.inputs for tape in self.tapes.values())
                and torch.equal(self.originals[key].detach(), self.leaves[key].detach())}

    def whole_tapes(self) -> dict[int, Tape]:
        return {at: tape for at, tape in self.tapes.items() if tape.whole}

    def check_faithful(self) -> str | None:
        """Replay the first whole step on a copy; None if it gives the loss that was seen, else what differed."""
        for tape in self.whole_tapes().values():
            if tape.step != self.first_step:
                return None  # weights at that step were not kept; the first steps carry the proof
            try:
                arm = self.fresh()
            except Exception as error:  # a class whose copies cannot be copied again
                return f"the model cannot be copied: {type(error).__name__}: {error}"
            state = torch.get_rng_state()
            try:
                torch.set_rng_state(tape.rng)
                seen = float(tape.replay(arm.bindings).detach().sum())
            except CannotReplay as error:
                return str(error)
            except Exception as error:
                return f"replaying the step raised {type(error).__name__}: {error}"
            finally:
                torch.set_rng_state(state)
            value = tape.value * tape.scale
            if seen != seen and value != value:
                return None
            if abs(seen - value) > 1e-3 * max(1.0, abs(value)):
                return f"replaying the first step gives the loss {seen:.6g}, the script saw {value:.6g}"
            return None
        return None


@contextlib.contextmanager
def unnoticed():
    """A class of the user's may print, or draw random numbers, when it is copied: neither is the script's."""
    import numpy

    states = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        random.setstate(states[0])
        numpy.random.set_state(states[1])
        torch.set_rng_state(states[2])
