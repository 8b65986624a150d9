"""What monitors hear of the loop: the loss at its backward, the steps of optimizers. Put on with the first monitor, taken off with the last.

Nothing here changes an argument, a result or the random state. Optimizers are heard by torch's own hooks; for the loss
`torch.autograd.backward` is replaced, and a gradient scaler's `scale`, which knows the loss before scaling. `torch.jit.script`
is replaced because it compiles a module's hooks as part of it: ours are off before.
"""

import contextlib
import functools
import weakref

import torch

from whyloss.sources.collectives import EXCHANGES, tensors_of
from whyloss.sources.monitor.tap import without_ears
from whyloss.sources.stephooks import StepHooks

_listening: list = []
_of_ranks: list = []   # those of them that train beside other ranks
_scaled: list = []     # (weak reference to the scaled loss, the loss)
_undo: list = []
OWN = 4                # of these, without the collectives of a training with several ranks
_in_backward = torch._C._current_graph_task_id


def listen(monitor) -> None:
    """From now on the monitor hears."""
    if not _undo:
        _undo.append(StepHooks(_before_step, _after_step).remove)
        _undo.append(_replaced(torch.autograd, "backward", _hearing_backward))
        _undo.append(_replaced(torch.amp.GradScaler, "scale", _hearing_scale))
        _undo.append(_replaced(torch.jit, "script", _scripting))
    _listening.append(monitor)
    if monitor.ranks is not None:
        _of_ranks.append(monitor)
    if _of_ranks and len(_undo) == OWN:
        _undo.extend(_replaced(torch.distributed, name, _hearing_exchange) for name in EXCHANGES if hasattr(torch.distributed, name))


def unlisten(monitor) -> None:
    if monitor in _listening:
        _listening.remove(monitor)
        if monitor.hand is not None:
            monitor.hand.stop()
        if monitor.ranks is not None:
            _of_ranks.remove(monitor)
            with contextlib.suppress(Exception):  # whatever a model's hooks are, the training goes on
                monitor.ranks.close()
    if not _listening:
        while _undo:
            _undo.pop()()
        _scaled.clear()


def listening() -> tuple:
    """The monitors that hear."""
    return tuple(_listening)


def scaling() -> bool:
    """Whether a gradient scaler multiplies losses."""
    return bool(_scaled)


def unscaled(loss: torch.Tensor) -> torch.Tensor:
    """The loss as it was before a gradient scaler multiplied it."""
    if not _scaled:
        return loss
    return next((before.detach() for reference, before in _scaled if reference() is loss), loss)


def _replaced(owner, name: str, make):
    original = getattr(owner, name)
    ours = make(original)
    setattr(owner, name, ours)

    def undo() -> None:
        if getattr(owner, name) is ours:  # else somebody wrapped ours in theirs: it stays, and hears nothing
            setattr(owner, name, original)
    return undo


def _hearing_backward(original):
    @functools.wraps(original)
    def backward(tensors, *args, **kwargs):
        # not the calls that checkpointing makes inside of backward
        if _listening and _in_backward() == -1 and not torch.compiler.is_compiling():
            if not isinstance(tensors, (torch.Tensor, tuple, list)):
                tensors = tuple(tensors)  # a generator gives them once
            for monitor in tuple(_listening):
                if monitor.hand is not None:
                    monitor.hand.before_backward()
                monitor.hear_loss(tensors)
            for monitor in tuple(_of_ranks):
                monitor.ranks.before_backward(tensors)
            result = original(tensors, *args, **kwargs)
            for monitor in tuple(_listening):
                if monitor.hand is not None:
                    monitor.hand.after_backward()
            for monitor in tuple(_of_ranks):
                monitor.ranks.after_backward()
            return result
        return original(tensors, *args, **kwargs)
    return backward


def _hearing_exchange(original):
    @functools.wraps(original)
    def exchange(*args, **kwargs):
        for monitor in tuple(_of_ranks):
            monitor.ranks.exchanged(tensors_of((*args, *kwargs.values())))
        return original(*args, **kwargs)
    return exchange


def _hearing_scale(original):
    @functools.wraps(original)
    def scale(self, outputs):
        result = original(self, outputs)
        if _listening and isinstance(outputs, torch.Tensor) and result is not outputs:
            _scaled[:] = [*_scaled[-3:], (weakref.ref(result), outputs.detach())]
        return result
    return scale


def _scripting(original):
    @functools.wraps(original)
    def script(obj, optimize=None, _frames_up=0, *args, **kwargs):
        with contextlib.ExitStack() as stack:
            if isinstance(obj, torch.nn.Module):
                for monitor in tuple(_listening):
                    stack.enter_context(monitor.sampler.resting())
                without_ears(obj)
            return original(obj, optimize, _frames_up + 1, *args, **kwargs)
    return script


def _before_step(optimizer, args, kwargs) -> None:
    for monitor in tuple(_listening):
        if monitor.freezer is not None:
            monitor.freezer.before_step(optimizer, args, kwargs)
        if monitor.ranks is not None:
            monitor.ranks.before_step(optimizer, args, kwargs)
        if monitor.wants_before:
            monitor.before_step(optimizer, args, kwargs)


def _after_step(optimizer, args, kwargs) -> None:
    for monitor in tuple(_listening):
        monitor.after_step(optimizer)
        if monitor.freezer is not None:
            monitor.freezer.after_step(optimizer, args, kwargs)


def inner(optimizer):
    """The optimizer inside a wrapper that is no torch optimizer to torch's hooks."""
    while not hasattr(type(optimizer).step, "hooked") and hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer
    return optimizer
