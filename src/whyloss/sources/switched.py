"""Which line switched a tensor's requires_grad off: nothing in torch remembers it."""

import weakref

import torch

from whyloss.sources import place

NAMES = {"__set__", "set_requires_grad", "requires_grad_"}


class Switched:
    """Part of a Watch."""

    def __init__(self):
        self.places: dict[int, tuple] = {}  # tensor -> (weak reference, line)

    def heard(self, func, args) -> None:
        """A torch function whose name is one of NAMES is about to run."""
        setter = getattr(func, "__self__", None)
        if not args or not isinstance(args[0], torch.Tensor) or not args[0].is_leaf or setter not in (None, torch.Tensor.requires_grad):
            return
        if len(args) > 1 and not args[1]:
            self.places[id(args[0])] = weakref.ref(args[0]), place.here(3)
        else:
            self.places.pop(id(args[0]), None)

    def off(self, tensor: torch.Tensor) -> str | None:
        """"train.py:9", or None where the tensor wants a gradient or was made without."""
        reference, where = self.places.get(id(tensor), (None, None))
        return where if reference is not None and reference() is tensor and not tensor.requires_grad else None
