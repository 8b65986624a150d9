"""Custom autograd functions of a watched training, and re-entrant checkpoints, which are one of torch's own."""

import torch

from whyloss.sources import place
from whyloss.sources.structure import tensors_in


def seen(watch, window, cls, args, result, where: str | None) -> None:
    """One call of a torch.autograd.Function while gradients are on. An error of ours must not reach the forward pass."""
    if window.evaluation or not torch.is_grad_enabled():
        return
    with watch._guard():
        if cls.__module__ == "torch.utils.checkpoint":
            if not any(t.requires_grad for t in tensors_in(result)) and not any(t.requires_grad for t in tensors_in(args)):
                watch.observe("checkpoint_without_gradient", len(list(tensors_in(args))), where or "?")
        elif not cls.__module__.startswith("torch.") and any(t.requires_grad for t in tensors_in(result)):
            line = _line_of(cls)
            if line is not None:
                watch.observe("custom_function", {"called": where, "line": line}, cls.__name__)


def _line_of(cls) -> str | None:
    """The last line of a hand-written backward, if the user wrote it."""
    code = getattr(cls.__dict__.get("backward"), "__func__", None)
    code = getattr(code, "__code__", None)
    if code is None or not place.is_user_file(code.co_filename):
        return None
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    return f"{place.shown(code.co_filename)}:{last}"
