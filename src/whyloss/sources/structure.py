"""Tensors inside nested arguments and outputs: find them in a fixed order, and rebuild the structure around others."""

import copy
import dataclasses
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch

_ATOMS = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, slice)
_DEPTH = 6


def tensors_in(thing: Any, depth: int = _DEPTH) -> Iterator[torch.Tensor]:
    """Every tensor in tuples, lists, dicts, dataclasses and plain objects, in a fixed order."""
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, _ATOMS) or depth == 0 or isinstance(thing, (torch.nn.Module, type, ModuleType)):
        return
    elif isinstance(thing, (tuple, list)):
        for item in thing:
            yield from tensors_in(item, depth - 1)
    elif isinstance(thing, dict):
        for item in thing.values():
            yield from tensors_in(item, depth - 1)
    elif hasattr(thing, "__dict__") and not callable(thing):
        for item in vars(thing).values():
            yield from tensors_in(item, depth - 1)


def map_tensors(thing: Any, change: Callable[[torch.Tensor], Any], depth: int = _DEPTH) -> Any:
    """The same structure with every tensor replaced by `change(tensor)`; what holds no tensor is returned as it is."""
    if isinstance(thing, torch.Tensor):
        return change(thing)
    if isinstance(thing, slice):
        return slice(map_tensors(thing.start, change), map_tensors(thing.stop, change), map_tensors(thing.step, change))
    if isinstance(thing, _ATOMS) or depth == 0 or isinstance(thing, (torch.nn.Module, type)):
        return thing
    if isinstance(thing, tuple):
        items = [map_tensors(item, change, depth - 1) for item in thing]
        if hasattr(thing, "_fields"):
            return type(thing)(*items)
        return type(thing)(items) if type(thing) in (tuple, torch.Size) else _rebuilt(thing, items)
    if isinstance(thing, list):
        return [map_tensors(item, change, depth - 1) for item in thing]
    if isinstance(thing, dict):
        changed = {key: map_tensors(item, change, depth - 1) for key, item in thing.items()}
        if type(thing) is dict:
            return changed
        fresh = copy.copy(thing)
        for key, item in changed.items():
            fresh[key] = item
        return fresh
    if not callable(thing) and hasattr(thing, "__dict__") and any(True for _ in tensors_in(thing, depth)):
        fresh = copy.copy(thing)
        for key, item in vars(thing).items():
            changed = map_tensors(item, change, depth - 1)
            if changed is not item:
                if dataclasses.is_dataclass(fresh):
                    object.__setattr__(fresh, key, changed)
                else:
                    setattr(fresh, key, changed)
        return fresh
    return thing


def _rebuilt(thing: tuple, items: list) -> Any:
    """Tuple-like results of torch (torch.return_types.max and others) take one sequence."""
    try:
        return type(thing)(items)
    except TypeError:
        return tuple(items)
