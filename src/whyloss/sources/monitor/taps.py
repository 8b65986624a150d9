"""Listening to the outputs of single modules, in sampled steps only.

Hooks sit on modules one by one: a global hook makes compiled models compile again, and costs every call. They live in this
importable module and return None. In and out is one write to a module's dict of hooks, 0.2 us; torch's own way takes 3.3 us.
"""

import sys
from collections import OrderedDict
from time import perf_counter

import torch
from torch.utils.hooks import RemovableHandle

from whyloss.sources.structure import tensors_in

CALLS = 8            # calls of one module that are read in a sample; later ones are not
CALL_SECONDS = 1.5e-6  # what torch's slower way of calling a hooked module takes, which no clock of ours sees
_RELUS = (torch.nn.ReLU, torch.nn.ReLU6)
_SILENT = (torch.nn.Identity, torch.nn.Flatten, torch.nn.Unflatten)
_is_grad_enabled = torch.is_grad_enabled
_is_compiling = torch.compiler.is_dynamo_compiling  # the cheap one: a hook that a tracer calls hears tensors of the tracer's type


class Tap:
    """One module that can be listened to. columns: where mean, std, active and dead share go in a frame."""

    def __init__(self, name: str, module, ear):
        self.name, self.module, self.ear = name, module, ear
        self.relu = isinstance(module, _RELUS)
        self.at_once = False     # a later module overwrites this output in place: it cannot be read later
        self.sample = self.calls = 0    # the last sample it was heard in, and how often in that
        self.entries = 0         # of its first output in this sample
        self.columns: dict[str, int] = {}
        self.kind = None         # of its last small output

    def hear(self, module, args, output):
        """The forward hook."""
        if _is_compiling():  # first: nothing of this may enter a graph
            return
        ear = self.ear
        if not _is_grad_enabled() or not ear.open:
            return
        began = perf_counter()
        ear.hear(self, output)
        ear.seconds += perf_counter() - began + CALL_SECONDS

    # A model that is copied or pickled in the middle of a sampled step takes no ear with it.
    def __deepcopy__(self, memo):
        return Mute()

    def __reduce__(self):
        return Mute, ()


class Mute:
    """What stands for a tap in a copy of the model: also where its method is called as a tap's."""

    open = False

    @property
    def ear(self):
        return self

    def hear(self, module, args, output):
        return None


class Taps:
    """All modules of a model that can be listened to; `put_on` and `take_off` together."""

    def __init__(self, model, ear):
        self.taps: list[Tap] = []
        self.modules: dict[str, torch.nn.Module] = {}     # by name: all that are not closed
        self.closed: dict[str, str] = {}     # part of the model -> why it is not listened to
        self.on = False
        self.key = RemovableHandle(OrderedDict()).id    # of no other hook
        self._look(model, ear)
        for tap, after in zip(self.taps, self.taps[1:]):
            tap.at_once = bool(getattr(after.module, "inplace", False))

    def _look(self, model, ear) -> None:
        inside, reason = unwrapped(model)
        shut: set[int] = set()
        if reason:
            self.closed["the model"] = reason
            return
        if functions_compiled() and not any(closed_because(module) for module in inside.modules()):
            # which functions call the model cannot be told; hooks that come and go would make those compile again
            self.closed["the model"] = "this process compiles functions, one of which may call it"
            return
        for name, module in inside.named_modules():
            if id(module) in shut:
                continue
            reason = closed_because(module)
            if reason:
                self.closed[plain(name) or "the model"] = reason
                shut.update(id(part) for part in module.modules())
                continue
            self.modules[plain(name)] = module
            leaf = next(module.children(), None) is None
            if not isinstance(module, _SILENT) and (leaf or next(module.parameters(recurse=False), None) is not None):
                self.taps.append(Tap(plain(name) or type(module).__name__, module, ear))

    def put_on(self) -> None:
        self.on, key = True, self.key
        for tap in self.taps:
            tap.module._forward_hooks[key] = tap.hear

    def take_off(self) -> None:
        self.on, key = False, self.key
        for tap in self.taps:
            tap.module._forward_hooks.pop(key, None)


def closed_because(module) -> str:
    """Why the modules of this part cannot be listened to; empty where they can."""
    if type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None:
        return "compiled: hooks would not fire, or make it compile again"
    if isinstance(module, torch.jit.ScriptModule):
        return "a TorchScript module"
    if isinstance(module, torch.nn.DataParallel):
        return "DataParallel runs copies in threads"
    return ""


def functions_compiled() -> bool:
    """Whether torch.compile was called in this process, for anything."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return any(backend is not None for backend in getattr(frames, "cached_backends", {}).values())


def unwrapped(model) -> tuple[torch.nn.Module, str]:
    """The model inside wrappers (distributed, compiled), and why a wrapper lets nothing be heard, if it does not."""
    reason = ""
    while True:
        reason = reason or closed_because(model)
        if type(model).__name__ == "OptimizedModule":
            model = model._orig_mod
        elif isinstance(model, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            model = model.module
        else:
            return model, reason


def plain(name: str) -> str:
    """A name without what compiling a part of the model adds to it."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def output_of(output) -> torch.Tensor | None:
    """The floating-point tensor of what a module returned: the first in a tuple, dict or dataclass."""
    if not isinstance(output, torch.Tensor):
        output = next((t for t in tensors_in(output) if t.is_floating_point() or t.is_complex()), None)
    return output
