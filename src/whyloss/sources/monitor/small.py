"""Small outputs are remembered and read together, those of one shape as the rows of one matrix.

Who goes where is worked out once: as a rule the next sample hears the same modules in the same order. Where they are many, mean, std
and active share are those of a part of the batch; whether a unit is dead is asked of all of it.
"""

from collections import Counter
from operator import attrgetter, itemgetter

import numpy as np
import torch

from whyloss.sources.monitor.entries import in_memory_order

MANY = 1 << 17     # entries of one kind from which on a part of them will do
ENTRIES, ROWS = 1024, 32   # of each output, at least; and places along its first axes
_version, _shape = attrgetter("_version"), attrgetter("shape")
_device = torch.Tensor.get_device


class Kind:
    """Small outputs of one shape, type and device, as they lie in memory. units: (outer, units, inner)"""

    def __init__(self, values: torch.Tensor, plain: bool):
        self.shape, self.dtype, self.device, self.plain = values.shape, values.dtype, values.get_device(), plain
        self.count, self.units = values.numel(), layout(values)
        self.wide = self.count // self.units[0]                # entries of one place along the first axes
        self.fewer = max(ROWS, -(-ENTRIES // self.wide))
        self.some: torch.Tensor | None = None

    def fits(self, values: torch.Tensor) -> bool:
        return self.shape == values.shape and self.dtype is values.dtype and self.device == values.get_device() and \
            self.plain and values.is_contiguous()

    def part_of(self, rows: torch.Tensor) -> torch.Tensor:
        """rows: (outputs, count). -> (outputs, fewer * wide), a copy: the same random places along the first axes of each"""
        if self.some is None or self.some.device != rows.device:
            chosen = np.random.default_rng(20240229).choice(self.units[0], self.fewer, replace=False)
            self.some = torch.from_numpy(np.sort(chosen)).to(rows.device)
        return rows.view(len(rows), self.units[0], self.wide).index_select(1, self.some).view(len(rows), -1)


class Calls:
    """Calls of modules whose numbers come together: (tap, which call of it, entries) each. columns: by quantity, looked up once"""

    def __init__(self, who: list[tuple]):
        self.who, self.columns = who, {}
        self.first = all(entry[1] == 1 for entry in who)   # else the columns are others in each sample


class Part:
    """Outputs of one kind. places: in the order heard; ReLUs come first, then modules whose ReLU has no hook: a slice of the rows."""

    def __init__(self, kind: Kind, heard: list[tuple], exact: bool):
        """heard: (place, tap, call)"""
        relus = [entry for entry in heard if entry[1].relu]
        followed = [entry for entry in heard if not entry[1].relu and entry[1].chain is not None and kind.plain]
        others = [entry for entry in heard if not entry[1].relu and (entry[1].chain is None or not kind.plain)]
        whole = relus + followed + others
        self.kind, self.relus, self.active = kind, len(relus), len(relus) + len(followed)
        self.thin = not exact and len(whole) * kind.count >= MANY and 2 * kind.fewer <= kind.units[0]
        self.pick = itemgetter(*(place for place, _tap, _call in whole)) if len(whole) > 1 else None
        self.only = whole[0][0]
        self.whole, behind = self._calls(whole), [(place, tap.follower, call) for place, tap, call in followed]
        self.behind, self.living = self._calls(behind), self._calls(relus + behind)
        self.chains = Counter(tap.chain for _place, tap, _call in followed)

    def _calls(self, heard: list[tuple]) -> Calls:
        return Calls([(tap, call, self.kind.count) for _place, tap, call in heard])

    def read(self, outputs: tuple, ear) -> None:
        kind = self.kind
        mine = self.pick(outputs) if self.pick else (outputs[self.only],)
        rows = torch.cat(mine if kind.plain else list(map(in_memory_order, mine))).reshape(-1, kind.count)  # copied where all are channels last
        rows = rows if rows.dtype is torch.float32 else rows.float()
        if self.thin:
            if self.active:
                ear.dead_share(rows[:self.active], self.living, kind.units)
            rows = kind.part_of(rows)
        ear.moments(rows, self.whole)
        if self.chains:
            for chain, count in self.chains.items():
                chain.told += count
            ear.moments(rows[self.relus:self.active].clamp_min_(0), self.behind)
        if self.active and self.thin:
            ear.active_share(rows[:self.active], self.living)
        elif self.active:
            ear.living(rows[:self.active], self.living, kind.units)


class Order:
    """Outputs heard one after the other, and how they are read. heard: (tap, call, values) each; kind_of: gives the kind of an output"""

    def __init__(self, heard: list[tuple], kind_of, exact: bool):
        parts: dict[int, tuple[Kind, list]] = {}
        for place, (tap, call, values) in enumerate(heard):
            kind = tap.kind
            if kind is None or not kind.fits(values):
                kind = tap.kind = kind_of(values)
            parts.setdefault(id(kind), (kind, []))[1].append((place, tap, call))
        self.parts = [Part(kind, entries, exact) for kind, entries in parts.values()]
        self.lasts = all(part.kind.plain for part in self.parts)   # strides are not asked again
        self.taps, self.calls = tuple(tap for tap, _call, _values in heard), tuple(call for _tap, call, _values in heard)
        outputs = [values for _tap, _call, values in heard]
        self.shapes, self.devices = list(map(_shape, outputs)), list(map(_device, outputs))

    def fits(self, taps: tuple, calls: tuple, outputs: tuple) -> bool:
        """Whether these can be read in this way; of another type they may be, and not contiguous: they are joined in the order of indices."""
        return taps == self.taps and calls == self.calls and list(map(_shape, outputs)) == self.shapes and \
            list(map(_device, outputs)) == self.devices

    def read(self, outputs: tuple, ear) -> None:
        for part in self.parts:
            part.read(outputs, ear)

    def tell_entries(self) -> None:
        """To the taps, of their first call. Asked only where one was called again."""
        for part in self.parts:
            for tap, call, entries in part.whole.who + part.behind.who:
                if call == 1:
                    tap.entries = entries


def unwritten(outputs: tuple, versions: tuple) -> bool:
    """Whether all are as they were when they were heard."""
    return tuple(map(_version, outputs)) == versions


def layout(values: torch.Tensor) -> tuple[int, int, int]:
    """Where a unit's entries lie in memory: (outer, units, inner). Channels of pictures, else the last axis."""
    if values.dim() < 4:
        units = values.shape[-1] if values.dim() else 1
        return values.numel() // units, units, 1
    batch, channels = values.shape[:2]
    if values.is_contiguous():
        return batch, channels, values.numel() // (batch * channels)
    return values.numel() // channels, channels, 1  # channels last
