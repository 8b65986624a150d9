"""ReLUs that are called as functions in a module's forward, heard in sampled steps as if they were modules.

`torch.relu` and `torch.nn.functional.relu` are replaced while there is a sample, and only then. Names: that of the module
whose forward calls it, and "relu"; the second one there is "relu 2". Not heard: `tensor.relu()`, a function imported by
itself before, and a call that belongs to no module of the model.
"""

import functools
import sys

import torch

from whyloss.sources.monitor.tap import Tap
from whyloss.sources.monitor.taps import functions_compiled

_is_compiling = torch.compiler.is_dynamo_compiling
_is_grad_enabled = torch.is_grad_enabled
_in_backward = torch._C._current_graph_task_id
_OWN = {torch.nn.ReLU.forward.__code__, getattr(torch.nn.functional.relu, "__code__", None)}   # a module's is heard by its hook
PLACES = (torch.nn.functional, "relu"), (torch, "relu")
MOST = 4096     # different calls
_listening: list = []
_undo: list = []


class Functional:
    """modules: those of the model, by name; columns: gives a Tap its columns"""

    def __init__(self, modules: dict[str, torch.nn.Module], ear, columns):
        self.names = {id(module): name for name, module in modules.items()}
        self.ear, self.columns = ear, columns
        self.taps: dict[tuple, Tap] = {}              # (module, code, place in it) -> tap

    def begin(self, sample: int) -> None:
        """On from the second sample on, where nothing is compiled: a compiled function would be compiled anew for the replaced one. What is
        compiled shows with its first call, which a first sample sees."""
        if functions_compiled() or sample < 2 or not self.names:
            self.take_off()
        elif self not in _listening:
            self._put_on()

    def _put_on(self) -> None:
        if not _listening:
            _undo.extend(_replace(owner, name) for owner, name in PLACES)
        _listening.append(self)

    def take_off(self) -> None:
        if self in _listening:
            _listening.remove(self)
        if not _listening:
            while _undo:
                _undo.pop()()

    def hear(self, frame, result) -> None:
        """frame: of the caller"""
        code = frame.f_code
        if code in _OWN or not self.ear.open or type(result) is not torch.Tensor:
            return
        # which module calls is asked each time: one whose blocks are skipped at random calls the same code for others
        tap = self._tap(frame.f_locals.get("self"), code, frame.f_lasti)
        if tap is not None:
            tap.hear(None, (), result)

    def _tap(self, module, code, place: int) -> Tap | None:
        name = self.names.get(id(module))
        if name is None:
            return None
        key = id(module), code, place
        if key not in self.taps and len(self.taps) < MOST:
            there = sum(held[0] == key[0] for held in self.taps)
            tap = self.taps[key] = Tap(f"{name}.relu".lstrip(".") + (f" {there + 1}" if there else ""), None, self.ear)
            tap.relu = True
            self.columns(tap)
        return self.taps.get(key)


def _replace(owner, name: str):
    original = getattr(owner, name)

    @functools.wraps(original)
    def relu(*args, **kwargs):
        result = original(*args, **kwargs)
        if not _is_compiling() and _listening and _is_grad_enabled() and _in_backward() == -1:
            for functional in tuple(_listening):
                functional.hear(sys._getframe(1), result)
        return result

    def undo() -> None:
        if getattr(owner, name) is relu:  # else somebody wrapped ours in theirs: it stays, and hears nothing
            setattr(owner, name, original)

    setattr(owner, name, relu)
    return undo
