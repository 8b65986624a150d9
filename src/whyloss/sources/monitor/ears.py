"""What monitors hear of the loop: the loss at its backward, the steps of optimizers. Put on with the first monitor, taken off with the last.

Nothing here changes an argument, a result or the random state. Optimizers are heard by torch's own hooks; for the loss
`torch.autograd.backward` is replaced, and a gradient scaler's `scale`, which knows the loss before scaling.
"""

import functools
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

_listening: list = []
_scaled: list = []     # (weak reference to the scaled loss, the loss)
_undo: list = []
_in_backward = torch._C._current_graph_task_id


def listen(monitor) -> None:
    """From now on the monitor hears."""
    if not _undo:
        _undo.append(register_optimizer_step_pre_hook(_before_step).remove)
        _undo.append(register_optimizer_step_post_hook(_after_step).remove)
        _undo.append(_replaced(torch.autograd, "backward", _hearing_backward))
        _undo.append(_replaced(torch.amp.GradScaler, "scale", _hearing_scale))
    _listening.append(monitor)


def unlisten(monitor) -> None:
    if monitor in _listening:
        _listening.remove(monitor)
    if not _listening:
        while _undo:
            _undo.pop()()
        _scaled.clear()


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
            for monitor in tuple(_listening):
                monitor.hear_loss(tensors)
        return original(tensors, *args, **kwargs)
    return backward


def _hearing_scale(original):
    @functools.wraps(original)
    def scale(self, outputs):
        result = original(self, outputs)
        if _listening and isinstance(outputs, torch.Tensor) and result is not outputs:
            _scaled[:] = [*_scaled[-3:], (weakref.ref(result), outputs.detach())]
        return result
    return scale


def _before_step(optimizer, args, kwargs) -> None:
    for monitor in tuple(_listening):
        if monitor.wants_before:
            monitor.before_step(optimizer, args, kwargs)


def _after_step(optimizer, args, kwargs) -> None:
    for monitor in tuple(_listening):
        monitor.after_step(optimizer)
