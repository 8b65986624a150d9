"""Parameters of one optimizer -> gradient norm, weight norm and the true change of a step, a few kernels for many parameters.

The change is measured, not computed from learning rate and gradient: Adam's step is neither. Small parameters of one shape are
the rows of one matrix; of big ones the gradient is read whole and the weights at their fixed entries before and after the step.
Where the next step is sampled too, what was read after this one is what it begins with, as long as nobody has written to them.
"""

from dataclasses import dataclass
from functools import partial
from operator import attrgetter, is_

import numpy as np
import torch

from whyloss.sources.monitor.entries import COUNT, SMALL, Entries, in_memory_order, norms, numbers, row_norms, rows_of, scale
from whyloss.sources.monitor.readings import Readings
from whyloss.sources.shards import local, readable

_is_missing = partial(is_, None)
_grad, _version = attrgetter("grad"), attrgetter("_version")
_PLAIN = torch.float32, torch.float16, torch.bfloat16
CHUNK = 1 << 16       # entries whose difference stays in the cache
LOOK = 8              # samples between two looks at whether a parameter is what it was
ALL = 1, 2, 4, 16, 64, 256    # samples in which all are looked at
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

    def scales(self) -> torch.Tensor:
        """What the norms of the entries read are multiplied by. -> (members,)"""
        if self._scales is None:
            self._scales = torch.tensor([scale(numbers(t).numel()) for t in self.held], dtype=torch.float32, device=self.device)
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
        self.after: list = []                           # for each group (numbers, norms) as the last step left them, or None
        self.versions: list[int] = []                   # then
        self.held = [tensor for group in self.groups for tensor in group.held]
        self.used = 0                                   # how often
        self.trusts = True                              # no parameter was found that was written to through .data, which changes no version

    def read_gradients(self, readings: Readings, inverse: torch.Tensor | None = None) -> list[Watched]:
        """Norms of .grad. inverse: what scaled gradients are multiplied by. -> the parameters that have none"""
        missing: list[Watched] = []
        for group in self.groups:
            grads = list(map(_grad, group.held))
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
        readings.add(values if inverse is None else values * inverse.to(values.device), columns, norms=True)

    def read_before(self, readings: Readings) -> None:
        """The weights before the step: their norms, and what the change will be measured against."""
        known = self.after if self.after and self._untouched() else [None] * len(self.groups)
        self.before, self.after = [], []
        for group, entry in zip(self.groups, known):
            if entry is None:
                tensors = group.tensors()
                if any(map(_is_missing, tensors)):
                    self.before.append(None)  # released for the moment: a sharded wrapper of the first kind
                    continue
                if self.exact and not group.small and not group.few:
                    entry = [self._copy(m.name, t) for m, t in zip(group.members, tensors)], norms(tensors)
                else:
                    read = self._read(group, tensors)
                    entry = read, self._norms(group, read)
            self.before.append(entry[0])
            readings.add(entry[1], group.weights)

    def _read(self, group: Group, tensors: list[torch.Tensor]):
        """-> what is read of them: (members, entries); copies where they are few of a shape"""
        if group.small:
            return rows_of(tensors)
        if group.few:
            return torch._foreach_mul(tensors, 1.0)
        rows = torch.empty(len(tensors), COUNT, dtype=torch.float32, device=group.device)
        for tensor, row in zip(tensors, rows.unbind(0)):
            self.entries.gather(tensor, row)
        return rows

    @staticmethod
    def _norms(group: Group, read) -> torch.Tensor:
        """read: as above. -> (members,)"""
        if group.few:
            return norms(read)
        return row_norms(read) if group.small else row_norms(read).mul_(group.scales())

    def _untouched(self) -> bool:
        """Whether the weights are as the last step left them. At first all are compared with what was kept: weights that are clipped or averaged
        after each step are as a rule so from the beginning; later one of them, another in turn, each LOOK-th time."""
        if list(map(_version, self.held)) != self.versions:
            return False
        self.used += 1
        if self.used in ALL:
            self.trusts = all(_alike(self._read(group, group.held), entry[0]) for group, entry in zip(self.groups, self.after) if entry is not None)
            return self.trusts
        if self.used % LOOK:
            return True
        at = self.used // LOOK % len(self.held)
        for group, entry in zip(self.groups, self.after):
            if at < len(group.held):
                if entry is not None:
                    self.trusts = _alike(self._read(group, group.held[at:at + 1]), entry[0][at:at + 1])
                return self.trusts
            at -= len(group.held)
        return True

    def _copy(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Into a tensor kept for it: fresh memory costs as much again in page faults."""
        flat = in_memory_order(tensor)
        kept = self.kept.get(name)
        if kept is None or kept.numel() != flat.numel() or kept.dtype != flat.dtype:
            kept = self.kept[name] = torch.empty_like(flat)
        return kept.copy_(flat)

    def read_after(self, readings: Readings, *, follows: bool = False) -> None:
        """The norm of what the step changed. follows: the next step is sampled too"""
        after: list = []
        for group, before in zip(self.groups, self.before):
            after.append(None)
            tensors = group.tensors() if before is not None else [None]
            if any(map(_is_missing, tensors)):
                continue
            if self.exact and not group.small and not group.few:
                readings.add(torch.stack([_distance(in_memory_order(t), b) for t, b in zip(tensors, before)]), group.changes)
                continue
            now = self._read(group, tensors)
            keeps = follows and self.trusts and group.plain and group.device.type == "cpu"
            if group.few:
                torch._foreach_sub_(before, now)
                both = norms(before + now if keeps else before)
                changed, norm = both[:len(now)], both[len(now):]
            else:
                changed, norm = self._norms(group, before.sub_(now)), self._norms(group, now) if keeps else None
            readings.add(changed, group.changes)
            if keeps:
                after[-1] = now, norm
        self.before = []
        if any(entry is not None for entry in after):
            self.after, self.versions = after, list(map(_version, self.held))


@torch.no_grad()
def largest_gradients(members: list[Watched]) -> list[tuple[Watched, float]]:
    """The largest absolute entry of each gradient that is there: tells an underflow from a true zero, an overflow from an inf."""
    pairs = [(member, numbers(member.tensor.grad)) for member in members]
    return [(member, float(grad.abs().max())) for member, grad in pairs if grad is not None]


def _alike(now, kept) -> bool:
    """What was read of parameters, as rows or one by one: whether it is the same."""
    return len(now) == len(kept) and all(a.dtype is b.dtype and torch.equal(a, b) for a, b in zip(now, kept))


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
