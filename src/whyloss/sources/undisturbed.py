"""Our own arithmetic, unseen by the user's modes and tensor classes: one that counts, prints or traces operations must not meet ours."""

from threading import get_ident

import torch
from torch.utils._python_dispatch import _disable_current_modes

_modes = torch._C._len_torch_dispatch_stack
_KEYS = [getattr(torch._C._TorchDispatchModeKey, name) for name in ("FAKE", "PROXY")]


def without_numbers() -> bool:
    """Whether an exporter runs the model on tensors that hold none: reading one becomes part of what it exports."""
    return _modes() > 0 and any(torch._C._get_dispatch_mode(key) is not None for key in _KEYS)


class Undisturbed:
    """A piece of our own work: no torch function and no dispatch mode of the user's hears it."""

    __slots__ = ("plain", "modes", "before")
    thread: int | None = None    # the one that does our work just now

    def __enter__(self) -> None:
        self.before, Undisturbed.thread = Undisturbed.thread, get_ident()
        self.plain = torch._C.DisableTorchFunction()
        self.plain.__enter__()
        self.modes = None
        if _modes():
            self.modes = _disable_current_modes()
            self.modes.__enter__()

    def __exit__(self, *error) -> None:
        if self.modes is not None:
            self.modes.__exit__(*error)
        self.plain.__exit__(*error)
        Undisturbed.thread = self.before
