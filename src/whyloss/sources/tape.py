"""The operations between the user's batch and the tensor backward() was called on, recorded once and run again.

A tape is a list of nodes in execution order. Module calls at the top level are one node each (the copy's own forward runs
when the tape is replayed), every other torch function called outside a module is one node. Tensors that come from
outside (batches, targets, noise) are constants, cloned when first seen because a loop may overwrite its buffers;
parameters are bound by identity, so a replay takes the copy's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from whyloss.errors import CannotReplay
from whyloss.sources.structure import map_tensors, tensors_in


@dataclass(frozen=True, slots=True)
class Slot:
    """The n-th tensor made on the tape."""

    index: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """A parameter (or another leaf that wants a gradient), by the identity of the user's tensor."""

    key: int


@dataclass(slots=True)
class Node:
    """One torch function or one root module call.

    func     the torch function; None for a module call     module  identity of the root module called
    outputs  slots its output tensors get, in order         modes   train/eval flag of each submodule at the call
    """

    func: Callable | None
    name: str
    args: tuple
    kwargs: dict
    outputs: list[int]
    place: str | None
    grad: bool
    autocast: tuple
    module: int | None = None
    modes: tuple[bool, ...] = ()
    inputs: list = field(default_factory=list)

    @property
    def writes(self) -> bool:
        """Whether it changes its first argument in place."""
        return self.module is None and (self.name == "__setitem__" or self.name.startswith("__i")
                                        or self.name.endswith("_") and not self.name.endswith("__"))


@dataclass
class Tape:
    """A finished recording: replaying it yields the loss. `value` is the loss seen; `place` where backward() stood."""

    nodes: list[Node]
    loss: Slot
    value: float
    place: str | None
    constants: dict[int, torch.Tensor]
    rng: torch.Tensor
    step: int
    whole: bool = True
    reason: str | None = None
    report: Slot | None = None
    scale: float = 1.0
    gradient: Any = None
    inputs: dict[int, torch.Tensor] = field(default_factory=dict)  # leaves that are no parameters, by value

    def replay(self, bindings: "Bindings", *, swap: Callable | None = None) -> torch.Tensor:
        """Run it on copies. -> the loss, with its graph.

        swap  called with (node, args, kwargs) before each node; returns them changed, for experiments
        """
        if not self.whole:
            raise CannotReplay(self.reason or "the step was not recorded completely")
        return self.run(bindings, swap=swap)[self.loss.index]

    def run(self, bindings: "Bindings", *, swap: Callable | None = None, given: dict | None = None) -> dict[int, torch.Tensor]:
        """Run it and keep every slot. given: {slot: tensor} replaces what a node made (free outputs, ladders)."""
        made: dict[int, torch.Tensor] = {}
        fresh: dict[int, torch.Tensor] = {}

        def bound(ref):
            if isinstance(ref, Slot):
                return made[ref.index]
            if ref.key in bindings.leaves:
                return bindings.leaf(ref.key)
            if ref.key not in fresh:
                if ref.key not in self.inputs:
                    raise CannotReplay("a tensor that wants a gradient was not kept")
                fresh[ref.key] = bindings.constant(-ref.key, self.inputs[ref.key]).clone().requires_grad_()
            return fresh[ref.key]

        for node in self.nodes:
            if given is not None and node.outputs and all(slot in given for slot in node.outputs):
                made.update({slot: given[slot] for slot in node.outputs})
                continue
            args, kwargs = resolve((node.args, node.kwargs), bound, self.constants, bindings)
            if node.writes and node.args and isinstance(getattr(node.args[0], "ref", None), int):
                args = (args[0].clone(), *args[1:])  # written in place: the stored batch must survive the replay
            if swap is not None:
                args, kwargs = swap(node, args, kwargs)
            with _context(node, bindings.ignore_no_grad, bindings.ignore_autocast):
                output = bindings.call(node, args, kwargs) if node.module is not None else node.func(*args, **kwargs)
            for slot, tensor in zip(node.outputs, tensors_in(output)):
                made[slot] = tensor
            if given:
                made.update({slot: given[slot] for slot in node.outputs if slot in given})
        return made


class Reference:
    """Stands in stored arguments where a tensor was. (A plain object, so structures rebuild around it.)"""

    __slots__ = ("ref",)

    def __init__(self, ref):
        self.ref = ref


def resolve(stored: Any, bound: Callable, constants: dict, bindings: "Bindings") -> Any:
    """Stored arguments with every reference replaced by the tensor it stands for."""
    return _resolve(stored, bound, constants, bindings)


def _resolve(thing, bound, constants, bindings):
    if isinstance(thing, Reference):
        ref = thing.ref
        return bindings.constant(ref, constants[ref]) if isinstance(ref, int) else bound(ref)
    if isinstance(thing, slice):
        return slice(*(_resolve(part, bound, constants, bindings) for part in (thing.start, thing.stop, thing.step)))
    if isinstance(thing, Packed):
        tensors = [_resolve(item, bound, constants, bindings) for item in thing.items]
        found = iter(tensors)
        return map_tensors(thing.shell, lambda _t: next(found))
    if type(thing) is tuple:
        return tuple(_resolve(item, bound, constants, bindings) for item in thing)
    if type(thing) is list:
        return [_resolve(item, bound, constants, bindings) for item in thing]
    if type(thing) is dict:
        return {key: _resolve(item, bound, constants, bindings) for key, item in thing.items()}
    return thing


class Packed:
    """A structure that is no plain tuple, list or dict (a packed sequence, a batch object): its shell and its tensors."""

    __slots__ = ("shell", "items")

    def __init__(self, shell, items):
        self.shell, self.items = shell, items


def store(thing: Any, refer: Callable[[torch.Tensor], Any]) -> Any:
    """Arguments as they are kept on the tape: tensors become references."""
    if isinstance(thing, torch.Tensor):
        return Reference(refer(thing))
    if isinstance(thing, slice):
        return slice(store(thing.start, refer), store(thing.stop, refer), store(thing.step, refer))
    if type(thing) is tuple:
        return tuple(store(item, refer) for item in thing)
    if type(thing) is list:
        return [store(item, refer) for item in thing]
    if type(thing) is dict:
        return {key: store(item, refer) for key, item in thing.items()}
    held = list(tensors_in(thing))
    if held:
        return Packed(map_tensors(thing, lambda t: t.detach()), [Reference(refer(t)) for t in held])
    return thing


class Bindings:
    """What a tape is replayed on: copies of modules and leaves, by the identity of the originals.

    change_constant  (key, tensor) -> tensor; experiments on the data (fewer rows, permuted labels) go through it
    """

    def __init__(self, modules: dict[int, torch.nn.Module], leaves: dict[int, torch.Tensor],
                 change_constant: Callable | None = None):
        self.modules, self.leaves, self.change_constant = modules, leaves, change_constant
        self.force_training: bool | None = None  # experiments: every part in train (or eval) mode
        self.ignore_no_grad = False
        self.ignore_autocast = False

    def leaf(self, key: int) -> torch.Tensor:
        return self.leaves[key]

    def constant(self, key: int, tensor: torch.Tensor) -> torch.Tensor:
        return self.change_constant(key, tensor) if self.change_constant else tensor

    def call(self, node: Node, args: tuple, kwargs: dict) -> Any:
        module = self.modules[node.module]
        if self.force_training is not None:
            module.train(self.force_training)
        elif node.modes:
            for part, training in zip(module.modules(), node.modes):
                part.training = training
        return module(*args, **kwargs)


class _context:
    """The gradient mode and autocast state a node was recorded under."""

    __slots__ = ("node", "entered", "always", "plain")

    def __init__(self, node: Node, always: bool = False, plain: bool = False):
        self.node, self.entered, self.always, self.plain = node, [], always, plain

    def __enter__(self):
        grad = self.node.grad or self.always
        if torch.is_grad_enabled() != grad:
            self.entered.append(torch.set_grad_enabled(grad))
        device, dtype, enabled = self.node.autocast
        enabled = enabled and not self.plain
        if enabled or torch.is_autocast_enabled(device):
            cast = torch.autocast(device, dtype=dtype, enabled=enabled)
            cast.__enter__()
            self.entered.append(cast)

    def __exit__(self, *error):
        for context in reversed(self.entered):
            context.__exit__(*error)


def autocast_state() -> tuple:
    """(device type, dtype, enabled) of the autocast region we are in; CPU first, then CUDA."""
    for device in ("cuda", "cpu"):
        if torch.is_autocast_enabled(device):
            return device, torch.get_autocast_dtype(device), True
    return "cpu", torch.bfloat16, False
