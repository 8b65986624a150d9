"""Listening to the outputs of a model's modules, in sampled steps only.

Hooks sit on modules one by one: a global hook makes compiled models compile again, and costs every call. In and out is one
write to a module's dict of hooks, 0.2 us; torch's own way takes 3.3 us.
"""

import sys
from collections import OrderedDict

import torch
from torch.utils.hooks import RemovableHandle

from whyloss.sources.monitor.followers import Chain, chains
from whyloss.sources.monitor.tap import Tap

_SILENT = (torch.nn.Identity, torch.nn.Flatten, torch.nn.Unflatten)


class Taps:
    """All modules of a model that can be listened to; `put_on` and `take_off` together."""

    def __init__(self, model, ear):
        self.taps: list[Tap] = []
        self.chains: list[Chain] = []
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
        self.chains = chains(self.modules, self.taps, ear)

    def put_on(self) -> None:
        self.on, key = True, self.key
        for chain in self.chains:
            chain.look(0)
            chain.module._forward_hooks[key] = chain.hear
            chain.module._forward_pre_hooks[key] = chain.begins
        for tap in self.taps:
            if not tap.follows:
                tap.module._forward_hooks[key] = tap.listens

    def settle(self) -> list[int]:
        """A sample is over. -> columns whose numbers do not hold"""
        if not self.chains:
            return []
        wrong = [at for chain in self.chains for at in chain.settle(self.key)]
        for chain in [chain for chain in self.chains if chain.settled and not chain.pairs]:
            self.chains.remove(chain)
            chain.leave(self.key)
        return wrong

    def take_off(self) -> None:
        self.on, key = False, self.key
        for tap in self.taps:
            tap.module._forward_hooks.pop(key, None)
        for chain in self.chains:
            chain.take_off(key)


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
