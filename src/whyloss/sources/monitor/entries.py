"""Tensor -> the numbers that stand for it: all entries of a small one, 4096 fixed random ones of a big one.

Blocks, rows and strides would be as cheap and are wrong by up to 70 %, because tensors have structure; random entries cost the
same and stay within a few percent. They are drawn from a generator of their own: the training's random state is never touched.
"""

import math

import numpy as np
import torch

from whyloss.sources.shards import local, readable

COUNT = 4096       # entries that stand for a big tensor
SMALL = 16384      # tensors up to this size are read whole
SIZES = 256        # different sizes whose entries are remembered
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_FLOATS = {torch.float32, torch.float16, torch.bfloat16, torch.float64}


class Entries:
    """The places of the entries that are read, for each size of tensor and device; tensors of one size share them."""

    def __init__(self) -> None:
        self._fractions = np.sort(np.random.default_rng(20240229).random(COUNT))
        self._known: dict[tuple, torch.Tensor] = {}

    def of(self, numel: int, device: torch.device) -> torch.Tensor:
        """Sorted places in a flat tensor of `numel` entries. -> (COUNT,) int32, or int64 for more than 2^31 entries"""
        key = (numel, device)
        places = self._known.get(key)
        if places is None:
            if len(self._known) >= SIZES:  # lengths that differ from batch to batch
                self._known.clear()
            whole = (self._fractions * numel).astype(np.int64 if numel > 2**31 - 1 else np.int32)
            places = self._known[key] = torch.from_numpy(whole).to(device)
        return places

    def gather(self, tensor: torch.Tensor, row: torch.Tensor) -> None:
        """Write the entries of a big tensor into a float32 row of COUNT."""
        flat = in_memory_order(tensor)
        places = self.of(flat.numel(), flat.device)
        if flat.dtype is torch.float32:
            torch.index_select(flat, 0, places, out=row)
        else:
            row.copy_(flat.index_select(0, places))


def numbers(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """The real floating-point entries that this process holds of a tensor, as a plain tensor; None where there are none to read.

    A rank's part of a sharded tensor, the values of a sparse one (entries given twice are added, as the optimizer does), a
    complex one as pairs of real numbers.
    """
    if tensor is None:
        return None
    tensor = local(tensor)
    if type(tensor) not in _PLAIN:
        with torch._C.DisableTorchFunction():  # a class of the user's is not told of our reading
            if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
                return None  # its entries are elsewhere
            tensor = tensor.as_subclass(torch.Tensor)
    if tensor.layout is not torch.strided:
        if tensor.layout is torch.sparse_coo:
            tensor = tensor.coalesce().values()
        elif tensor.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
            tensor = tensor.values()
        else:
            return None
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if tensor.dtype not in _FLOATS or tensor.is_quantized or tensor.device.type == "meta" or not tensor.numel() or not readable(tensor):
        return None
    return tensor


def in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """A flat view without a copy: reshape(-1) would copy a channels-last tensor. -> (numel,)"""
    if tensor.is_contiguous():
        return tensor.view(-1)
    if _dense(tensor):
        return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
    return tensor.reshape(-1)


def _dense(tensor: torch.Tensor) -> bool:
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(tensor.shape, tensor.stride()) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def rows_of(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Small tensors of one shape below each other, as one new tensor. -> (tensors, entries) float32"""
    rows = torch.cat(tensors) if tensors[0].dim() else torch.stack(tensors)
    rows = rows.reshape(len(tensors), -1)
    return rows if rows.dtype is torch.float32 else rows.float()


def row_norms(rows: torch.Tensor) -> torch.Tensor:
    """(rows, entries) -> (rows,)"""
    return torch.linalg.vector_norm(rows, dim=1)


def norms(tensors: list[torch.Tensor]) -> torch.Tensor:
    """L2 norms of tensors of one device. Half precision is summed in single: its own would overflow at 65504. -> (tensors,)"""
    if all(t.dtype is torch.float32 for t in tensors) and hasattr(torch, "_foreach_norm"):
        return torch.stack(torch._foreach_norm(tensors))
    return torch.stack([torch.linalg.vector_norm(t, dtype=torch.float64 if t.dtype is torch.float64 else torch.float32).float() for t in tensors])


def scale(numel: int) -> float:
    """What the norm of COUNT entries is multiplied by to stand for all."""
    return math.sqrt(numel / COUNT)
