"""Batches of whatever the caller has: tensors, arrays, data sets, loaders, generators."""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy
import torch

from whyloss.errors import BadInput
from whyloss.sources.structure import tensors_in

TARGET_NAMES = ("y", "label", "labels", "target", "targets")


def as_batches(data: Any, batch_size: int, *, steps: int = 200, shuffle: bool = True, seed: int = 0,
               what: str = "train") -> Iterable:
    """Batches that can be iterated again and again, of (x, y), a Dataset, a DataLoader or batches. Raises BadInput."""
    from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

    if _is_pair(data):
        x, y = as_tensor(data[0], f"{what}[0]"), as_tensor(data[1], f"{what}[1]")
        if y.dtype in (torch.int32, torch.int16, torch.int8, torch.uint8) and not isinstance(data[1], torch.Tensor):
            y = y.long()  # NumPy's integers; class losses take int64 only
        if len(x) != len(y):
            raise BadInput(f"{what}: inputs and targets differ in length: {len(x)} and {len(y)}")
        if not len(x):
            raise BadInput(f"{what}: there is no sample")
        data = TensorDataset(x, y)
    if isinstance(data, IterableDataset):
        return DataLoader(data, batch_size=batch_size)
    if isinstance(data, Dataset):
        size = min(batch_size, len(data))
        order = torch.Generator().manual_seed(seed)
        lonely = len(data) > size and len(data) % size == 1  # a batch of one sample stops batch normalisation
        return DataLoader(data, batch_size=size, shuffle=shuffle, generator=order, drop_last=shuffle and lonely)
    if isinstance(data, (str, bytes, dict, torch.Tensor, numpy.ndarray)) or not hasattr(data, "__iter__"):
        raise BadInput(f"{what} is a {type(data).__name__}: give (x, y) tensors or arrays, a Dataset, a DataLoader or "
                       "an iterable of batches")
    if iter(data) is data:
        return list(itertools.islice(data, steps))  # a generator gives its batches once
    return data


def _is_pair(data) -> bool:
    def is_array(part):
        return hasattr(part, "shape") and hasattr(part, "__len__") or \
            isinstance(part, list) and bool(part) and isinstance(part[0], (int, float, list))

    return isinstance(data, (tuple, list)) and len(data) == 2 and all(map(is_array, data))


def as_tensor(thing: Any, what: str = "x") -> torch.Tensor:
    """A tensor of an array, a data frame or a list; float64 of NumPy becomes the default dtype. Raises BadInput."""
    if isinstance(thing, torch.Tensor):
        return thing
    array = numpy.asarray(thing)
    if array.dtype == object or array.dtype.kind in "USOmM":
        raise BadInput(f"{what} holds {array.dtype} values: numbers are needed")
    tensor = torch.from_numpy(numpy.ascontiguousarray(array) if array.flags.writeable else array.copy())
    return tensor.to(torch.get_default_dtype()) if tensor.dtype == torch.float64 else tensor


def on_device(batch: Any, device: torch.device) -> Any:
    """The batch with its arrays as tensors and its tensors on `device`."""
    if isinstance(batch, torch.Tensor):
        return batch if batch.device == device else batch.to(device)
    if isinstance(batch, numpy.ndarray):
        return on_device(as_tensor(batch), device)
    if isinstance(batch, dict):
        return type(batch)({key: on_device(value, device) for key, value in batch.items()})
    if type(batch) in (tuple, list):
        return type(batch)(on_device(value, device) for value in batch)
    return batch.to(device) if device.type != "cpu" and hasattr(batch, "to") else batch


def described(batch: Any) -> str:
    """Shapes and types of a batch's tensors, for errors: (64, 8) float32, (64,) int64."""
    shapes = [f"{tuple(t.shape)} {str(t.dtype).replace('torch.', '')}" for t in tensors_in(batch)]
    return ", ".join(shapes) or type(batch).__name__


def split(batch: Any) -> tuple[tuple, dict, Any]:
    """(arguments of the model, its keywords, target) of a batch for loss_fn(output, target). Raises BadInput."""
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        return (batch[0],), {}, batch[1]
    if isinstance(batch, dict) or hasattr(batch, "keys"):
        wanted = [key for key in batch.keys() if key in TARGET_NAMES]
        if len(wanted) == 1 and len(batch.keys()) > 1:
            rest = {key: batch[key] for key in batch.keys() if key != wanted[0]}
            return (tuple(rest.values()), {}, batch[wanted[0]]) if len(rest) == 1 else ((), rest, batch[wanted[0]])
    raise BadInput(f"a batch of {described(batch)} is no (input, target): give loss_fn(model, batch) with these names")
