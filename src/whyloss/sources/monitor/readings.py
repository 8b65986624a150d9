"""What one sample measured, still on its device, and the one transfer that brings it to the host."""

import math
from operator import is_not

import numpy as np
import torch


class Joined:
    """Arrays of columns, one behind the other; those that were joined last are not joined again."""

    def __init__(self) -> None:
        self._parts: list = []
        self._whole = np.zeros(0, np.int64)

    def __call__(self, parts: list) -> np.ndarray:
        if len(parts) != len(self._parts) or any(map(is_not, parts, self._parts)):
            self._parts, self._whole = parts, np.concatenate([np.asarray(part, np.int64) for part in parts])
        return self._whole


class Readings:
    """Parts of one frame: each a flat tensor and the columns it belongs to.

    Negative columns are extra places behind the frame's own, counted from the end.
    """

    def __init__(self, joined: dict) -> None:
        self._joined = joined          # device -> Joined, kept from sample to sample
        self._parts: dict[torch.device, list[torch.Tensor]] = {}
        self._columns: dict[torch.device, list] = {}
        self._waiting: list = []
        self._norms: list[torch.Tensor] = []     # of gradients

    def add(self, values: torch.Tensor, columns, *, norms: bool = False) -> None:
        """values: (n,) of any real type; columns: n places in the frame; norms: of gradients"""
        device = values.device
        if norms:
            self._norms.append(values)
        if device not in self._parts:
            self._parts[device], self._columns[device] = [], []
        self._parts[device].append(values if values.dtype is torch.float32 else values.float())
        self._columns[device].append(columns)

    def send(self) -> None:
        """Start the transfer: on a GPU into pinned memory, without waiting for it; elsewhere it is done at once."""
        for device, parts in self._parts.items():
            columns = self._joined.setdefault(device, Joined())(self._columns[device])
            together = torch.cat(parts)
            if device.type == "cuda":
                host = torch.empty(len(columns), dtype=torch.float32, device="cpu", pin_memory=True)
                host.copy_(together, non_blocking=True)
                event = torch.cuda.Event()
                event.record(torch.cuda.current_stream(device))
                self._waiting.append((host, columns, event))
            else:
                self._waiting.append((together.cpu() if device.type != "cpu" else together, columns, None))
        self._parts, self._columns = {}, {}

    def arrived(self) -> bool:
        return all(event is None or event.query() for _host, _columns, event in self._waiting)

    def fine(self) -> bool:
        """Whether it is known without waiting, because all is on a CPU, that each gradient's norm is finite and not 0."""
        if not all(values.is_cpu for values in self._norms):
            return False
        norms = torch.cat(self._norms).numpy() if self._norms else np.ones(1)
        return 0 < norms.min() <= norms.max() < math.inf

    def alike(self, other: "Readings") -> bool:
        """Whether another sample has numbers for the same columns."""
        return len(self._waiting) == len(other._waiting) and all(mine[1] is its[1] for mine, its in zip(self._waiting, other._waiting))

    def into(self, frame: np.ndarray) -> None:
        """Write what was sent into the frame; waits where it is still under way."""
        for host, columns, event in self._waiting:
            if event is not None:
                event.synchronize()
            frame[columns] = host.numpy()
        self._waiting = []


def single(value: float) -> float:
    """A finite number stays finite in single precision: a loss scaled by hand may be larger than that can hold."""
    return max(-3.4e38, min(3.4e38, value)) if math.isfinite(value) else value
