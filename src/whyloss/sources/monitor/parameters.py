"""Parameters of one optimizer -> gradient norm, weight norm and the true change of a step, a few kernels for many parameters.

The change is measured, not computed from learning rate and gradient: Adam's step is neither. Small parameters of one shape are
the rows of one matrix; of big ones the gradient is read whole and the weights at their fixed entries before and after the step.
"""

from dataclasses import dataclass
from functools import partial
from operator import is_

import numpy as np
import torch

from whyloss.sources.monitor.entries import COUNT, SMALL, Entries, in_memory_order, norms, numbers, row_norms, rows_of, scale
from whyloss.sources.monitor.readings import Readings
from whyloss.sources.shards import local, readable

_is_missing = partial(is_, None)
_PLAIN = torch.float32, torch.float16, torch.bfloat16
CHUNK = 1 << 16       # entries whose difference stays in the cache
FEW = 3               # parameters of one shape, for which a matrix does not pay


@dataclass(eq=False)
class Watched:
    """One parameter. gradient, weight, change: its columns in a frame; part: this process holds only a part of it."""

    name: str
    tensor: torch.nn.Parameter
    gradient: int = -1
    weight: int = -1
    change: int = -1
    part: bool = False


@dataclass(eq=False)
class Group:
    """Parameters of one device that are read together: small ones of one shape, small ones of shapes of which there are few, or big ones."""

    members: list[Watched]
    small: bool
    device: torch.device
    few: bool = False

    def __post_init__(self) -> None:
        self.gradients, self.weights, self.changes = (np.array([getattr(m, of) for m in self.members]) for of in ("gradient", "weight", "change"))

        self._scales = None
        self.held = [m.tensor for m in self.members]
        self.plain = all(type(m.tensor) is torch.nn.Parameter and m.tensor.layout is torch.strided and m.tensor.dtype in _PLAIN for m in self.members)

    def scales(self, tensors) -> torch.Tensor:
        """What the norms of the entries read are multiplied by. -> (members,)"""
        if self._scales is None:
            self._scales = torch.tensor([scale(t.numel()) for t in tensors], dtype=torch.float32, device=self.device)
        return self._scales

    def tensors(self) -> list[torch.Tensor]:
        """What this process holds of them; with a None where one is released for the moment."""
        if self.plain:
            if readable(self.held[0]) and self.held[0].numel():
                return self.held
        return [numbers(tensor) for tensor in self.held]


class Plan:
    """How the parameters of one optimizer are read."""

    def __init__(self, members: list[Watched], entries: Entries, *, exact: bool = False):
        self.entries, self.exact = entries, exact
        self.members = members
        groups: dict[tuple, list[Watched]] = {}
        few: dict[torch.device, list[Watched]] = {}
        for member in members:
            held = numbers(member.tensor)
            if held is not None:
                small = held.numel() <= SMALL
                groups.setdefault((small, held.device, held.shape if small else None, held.dtype if small else None), []).append(member)
        for key in [key for key, held in groups.items() if key[0] and len(held) <= FEW]:
            if all(type(m.tensor) is torch.nn.Parameter and m.tensor.dtype is torch.float32 for m in groups[key]):
                few.setdefault(key[1], []).extend(groups.pop(key))
        self.groups = [Group(held, small, device) for (small, device, _shape, _dtype), held in groups.items()]
        self.groups += [Group(held, False, device, few=True) for device, held in few.items()]
        self.gradients, self.weights, self.changes = (np.array([getattr(m, of) for m in members], int) for of in ("gradient", "weight", "change"))
        self.counted = np.ones(len(members), bool)      # in the norm over all
        self.whole = True                               # all of them
        self.before: list = []
        self.kept: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def read_gradients(self, readings: Readings, inverse: torch.Tensor | None = None) -> list[Watched]:
        """Norms of .grad. inverse: what scaled gradients are multiplied by. -> the parameters that have none"""
        missing: list[Watched] = []
        for group in self.groups:
            grads = [tensor.grad for tensor in group.held]
            whole = group.plain and not any(map(_is_missing, grads))
            if whole and group.small and grads[0].layout is torch.strided:
                self._add(readings, row_norms(rows_of(grads)), group.gradients, inverse)
                continue
            if whole and grads[0].dtype is torch.float32 and all(type(g) is torch.Tensor and g.layout is torch.strided for g in grads):
                self._add(readings, norms(grads), group.gradients, inverse)
                continue
            missing += [m for m, g in zip(group.members, grads) if g is None]
            by_device: dict = {}
            for member, grad in zip(group.members, map(numbers, grads)):
                if grad is not None:
                    by_device.setdefault(grad.device, []).append((member.gradient, grad))
            for held in by_device.values():
                self._add(readings, norms([grad for _, grad in held]), np.array([at for at, _ in held]), inverse)
        return missing

    @staticmethod
    def _add(readings, values, columns, inverse) -> None:
        readings.add(values if inverse is None else values * inverse.to(values.device), columns)

    @torch.no_grad()
    def read_before(self, readings: Readings) -> None:
        """The weights before the step: their norms, and what the change will be measured against."""
        self.before = []
        for group in self.groups:
            tensors = group.tensors()
            if any(t is None for t in tensors):
                self.before.append(None)  # released for the moment: a sharded wrapper of the first kind
            elif group.small:
                rows = rows_of(tensors)
                readings.add(row_norms(rows), group.weights)
                self.before.append(rows)
            elif group.few:
                readings.add(norms(tensors), group.weights)
                self.before.append(torch._foreach_mul(tensors, 1.0))
            elif self.exact:
                readings.add(norms(tensors), group.weights)
                self.before.append([self._copy(m.name, t) for m, t in zip(group.members, tensors)])
            else:
                rows = torch.empty(len(tensors), COUNT, dtype=torch.float32, device=group.device)
                for tensor, row in zip(tensors, rows.unbind(0)):
                    self.entries.gather(tensor, row)
                readings.add(row_norms(rows) * group.scales(tensors), group.weights)
                self.before.append(rows)

    def _copy(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Into a tensor kept for it: fresh memory costs as much again in page faults."""
        flat = in_memory_order(tensor)
        kept = self.kept.get(name)
        if kept is None or kept.numel() != flat.numel() or kept.dtype != flat.dtype:
            kept = self.kept[name] = torch.empty_like(flat)
        return kept.copy_(flat)

    @torch.no_grad()
    def read_after(self, readings: Readings) -> None:
        """The norm of what the step changed."""
        for group, before in zip(self.groups, self.before):
            if before is None:
                continue
            tensors = group.tensors()
            if any(t is None for t in tensors):
                continue
            if group.small:
                changed = row_norms(rows_of(tensors).sub_(before))
            elif group.few:
                torch._foreach_sub_(before, tensors)
                changed = norms(before)
            elif self.exact:
                changed = torch.stack([_distance(in_memory_order(t), b) for t, b in zip(tensors, before)])
            else:
                scratch = torch.empty(COUNT, dtype=torch.float32, device=group.device)
                for tensor, row in zip(tensors, before.unbind(0)):
                    self.entries.gather(tensor, scratch)
                    row.sub_(scratch)
                changed = row_norms(before) * group.scales(tensors)
            readings.add(changed, group.changes)
        self.before = []


@torch.no_grad()
def largest_gradients(members: list[Watched]) -> list[tuple[Watched, float]]:
    """The largest absolute entry of each gradient that is there: tells an underflow from a true zero, an overflow from an inf."""
    pairs = [(member, numbers(member.tensor.grad)) for member in members]
    return [(member, float(grad.abs().max())) for member, grad in pairs if grad is not None]


def _distance(now: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """L2 norm of a difference, chunk by chunk on a CPU, so that it never leaves the cache. -> 0-d float32"""
    if now.device.type != "cpu" or now.dtype is not torch.float32:
        return torch.linalg.vector_norm(now.float() - before.float())
    scratch = torch.empty(min(CHUNK, now.numel()), dtype=torch.float32)
    squares = []
    for a, b in zip(now.split(CHUNK), before.split(CHUNK)):
        difference = torch.sub(a, b, out=scratch[:len(a)])
        squares.append(torch.dot(difference, difference))
    return torch.stack(squares).sum().sqrt()


def is_part(tensor: torch.Tensor) -> bool:
    """Whether this process holds only a part of a sharded tensor."""
    return local(tensor) is not tensor and local(tensor).numel() != tensor.numel()
