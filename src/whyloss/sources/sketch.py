"""Short fingerprints of tensors that two processes can compare without exchanging the tensors. No random numbers are drawn."""

import torch

from whyloss.sources.shards import local

BLOCK = 1 << 16   # entries folded with one pattern of signs
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_patterns: dict = {}


def weights(tensors) -> list[float]:
    """[norm, a, b] of each tensor, one after the other. a and b: sums with two fixed patterns of signs.

    The mean square of two tensors' differences in a and b estimates the square of the distance between them.
    """
    with torch.no_grad():
        parts = [_folded(t) for t in tensors]
        device = next((three[0].device for three in parts if three[0].device.type != "cpu"), None)  # one transfer for all of them
        return torch.stack([p if device is None else p.to(device) for three in parts for p in three]).tolist() if parts else []


def _folded(tensor: torch.Tensor | None) -> tuple:
    if tensor is None:
        return (torch.zeros(()),) * 3
    flat = local(tensor).detach()
    flat = (flat.coalesce().values() if flat.is_sparse else flat).reshape(-1)
    if not flat.numel():
        return (torch.zeros(()),) * 3
    first, second = _signs(flat.device)
    a = b = torch.zeros((), device=flat.device)
    for at, block in enumerate(flat.split(BLOCK)):
        block = block.float() if not block.is_complex() else torch.view_as_real(block).sum(-1).float()
        sign = -1.0 if (at * 2654435761 >> 7) & 1 else 1.0
        a = a + sign * torch.dot(block, first[:len(block)])
        b = b + sign * torch.dot(block, second[:len(block)])
    size = torch.linalg.vector_norm(flat, dtype=torch.float32 if not flat.is_complex() else None).float()
    return size, a, b


def _signs(device) -> tuple[torch.Tensor, torch.Tensor]:
    if device not in _patterns:
        at = torch.arange(BLOCK, dtype=torch.int64)
        made = []
        for seed in (0x9E3779B1, 0x85EBCA6B):
            mixed = _mixed(at * 2654435761 + seed)
            made.append(((mixed >> 17 & 1) * 2 - 1).to(device, torch.float32))
        _patterns[device] = tuple(made)
    return _patterns[device]


def _mixed(number: torch.Tensor) -> torch.Tensor:
    """Scatters the bits of int64 numbers; the arithmetic wraps."""
    number = (number ^ (number >> 29)) * 0x2545F4914F6CDD1D
    return number ^ (number >> 32)


def batch(tensors) -> dict:
    """{"hash", "rows", "size"} of a batch's tensors: equal for equal bits; `rows` is the same in any order of the samples."""
    rows, rest, size = None, 0, 0
    with torch.no_grad():
        for at, tensor in enumerate(tensors):
            codes = _codes(local(tensor))
            mixed = _mixed(codes + 0x632BE59BD9B4E019 * (at + 1))
            if rows is None or rows.shape == mixed.shape:
                rows = mixed if rows is None else rows + mixed
            else:
                rest = rest * 31 + int(mixed.sum())
        if rows is None:
            return {"hash": 0, "rows": 0, "size": 0}
        size = len(rows)
        order = torch.arange(size, device=rows.device) * 0x9E3779B97F4A7C1 | 1
        return {"hash": int((rows * order).sum()) ^ rest & (1 << 62) - 1, "rows": int(_mixed(rows).sum()), "size": size}


def _codes(tensor: torch.Tensor) -> torch.Tensor:
    """One int64 for each row's bits. (samples, ...) -> (samples,)"""
    tensor = tensor.detach()
    if tensor.is_sparse or tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    flat = tensor.reshape(1, 1) if tensor.dim() == 0 else tensor.reshape(len(tensor), -1)
    if flat.dtype == torch.bool or flat.element_size() not in _BITS:
        flat = flat.to(torch.uint8)
    bits = flat.contiguous().view(_BITS[flat.element_size()]).to(torch.int64)
    factor = torch.arange(bits.shape[1], device=bits.device) * 0x9E3779B97F4A7C1 | 1
    return (_mixed(bits + 1) * factor).sum(1)


CHANNELS = 48


def statistics(tensor: torch.Tensor) -> dict:
    """Mean and variance over the batch of (at most 48) channels, as batch normalisation takes them."""
    with torch.no_grad():
        channels = tensor.detach().transpose(0, 1).reshape(tensor.shape[1], -1)[:CHANNELS].double()
        return {"size": int(tensor.shape[0]), "mean": channels.mean(1).tolist(), "var": channels.var(1, correction=0).tolist()}
