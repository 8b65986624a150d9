"""Outputs of modules -> mean, std, share of active entries and of dead units, a few kernels for many modules.

Small outputs are remembered and read together; of big ones the fixed entries are taken at once. No output is held longer than
until backward begins.
"""

import math

import numpy as np
import torch

from whyloss.sources.framefile import blank
from whyloss.sources.monitor.entries import COUNT, Entries, in_memory_order
from whyloss.sources.monitor.readings import Joined, Readings
from whyloss.sources.monitor.small import Calls, Kind, Order, layout, unwritten

ROWS = 16             # big outputs whose entries are reduced together
KNOWN = 1024          # sets of modules whose columns are remembered
CHUNK = 1 << 18       # entries that stay in the cache from one pass to the next
FIRST = 1024          # entries of each unit in which it is first looked for; the rest is read where some unit is dead there
CANCELS = 100.0       # mean^2 / variance from which on a sum of squares is no good way to a variance: then the mean is taken off first
USELESS = 1e4         # and from which on it holds no digit that counts
AT_ONCE = 1 << 18     # entries of a ReLU's output up to which its units are summed over the whole batch


def dead(counts: torch.Tensor) -> torch.Tensor:
    """Share of units that are never active. counts: (modules, units), overwritten. -> (modules,)"""
    return counts.eq_(0).mean(1)


def total(reduce, parts: list, **how) -> torch.Tensor:
    """A sum or a norm over all parts. -> 0-d"""
    found = [reduce(part, **how) for part in parts]
    return reduce(torch.stack(found)) if len(found) > 1 else found[0]


def dead_units(values: torch.Tensor) -> int:
    """How many units are 0 throughout. values: (outer, units, inner) >= 0, on a CPU. As a rule none is in the first part of a batch."""
    found = values[:-(-FIRST // values.shape[2])].sum((0, 2)).tolist()
    return values.sum((0, 2)).tolist().count(0.0) if 0.0 in found else 0


class Activations:
    """What the taps of a model hear in one sample. `open` while there is a sample."""

    def __init__(self, entries: Entries, on_error, *, exact: bool = False):
        self.entries, self.on_error, self.exact = entries, on_error, exact
        self.open = False
        self.seconds = 0.0
        self.known: dict[tuple, Calls] = {}
        self.kinds: dict[tuple, Kind] = {}
        self.orders: dict[tuple, Order] = {}
        self.kept: dict[torch.device, tuple] = {}
        self.sample = 0                       # the number of this one
        self.careful = True                   # in the next sample: until a frame has shown that no mean is far above its std
        self.twice = True                     # in this one: the mean is taken off before anything is squared
        self.means, self.stds = Joined(), Joined()
        self.counted: tuple = (None,)         # columns of std, 1 / entries, entries / (entries - 1), entries of each pair
        self.end()

    def forget(self) -> None:
        """There will be other taps."""
        self.known, self.kinds, self.orders = {}, {}, {}

    def begin(self, readings: Readings) -> None:
        self.end()
        self.readings, self.open, self.sample, self.twice = readings, True, self.sample + 1, self.careful

    def taken(self) -> float:
        """Seconds spent in hooks since it was last asked."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def end(self) -> None:
        """Forget everything of the sample."""
        self.open = False
        self.readings = None
        self.extra = 0                        # places behind the frame's columns, counted from the end
        self.pending: list[tuple] = []
        self.held = 0
        self.inside: list | None = None       # what a Chain that runs has heard so far
        self.taken_rows: dict[torch.device, tuple[list, list]] = {}
        self.units: dict[tuple, tuple] = {}
        self.dead: list[tuple] = []           # (tap, call, entries, share of dead units) where the host knows it
        self.pairs: list[tuple] = []          # columns of mean and of std, entries
        self.heard = 0                        # calls
        self.read: list[Order] = []           # small outputs
        self.again: list[tuple] = []          # (tap, quantity, entries, extra place) of a module's second call and later ones

    # ------------------------------------------------------------------ in the hook
    @torch.no_grad()
    def big(self, tap, values: torch.Tensor) -> None:
        """An output that is not kept until it can be read with others."""
        values = values.detach()
        if self.exact:
            self._whole(tap, values)
        else:
            device = values.device
            kept = self.kept.get(device)
            if kept is None:  # for good: fresh memory costs more than what is done with it
                rows = torch.empty(ROWS, COUNT, dtype=torch.float32, device=device)
                kept = self.kept[device] = rows, rows.unbind(0)
            relus, others = self.taken_rows.setdefault(device, ([], []))  # from the first row on, and from the last one back
            mine, row = (relus, len(relus)) if tap.relu else (others, -1 - len(others))
            self.entries.gather(values, kept[1][row])
            mine.append((tap, tap.calls, values.numel()))
            if len(relus) + len(others) == ROWS:
                self._reduce_rows(device)
        if tap.relu:
            outer, units, inner = layout(values)
            flat = in_memory_order(values).view(outer, units, inner)
            if values.is_cpu and values.numel() > AT_ONCE:
                self.dead.append((tap, tap.calls, values.numel(), dead_units(flat) / units))
            else:  # without a word to the host
                sums = flat.sum((0, 2), dtype=torch.float32)
                self.units.setdefault((units, values.device), []).append((tap, tap.calls, values.numel(), sums))

    def _whole(self, tap, values: torch.Tensor) -> None:
        """Every entry, chunk by chunk; where it may cancel, the mean of the first chunk is taken off first."""
        flat, count = in_memory_order(values), values.numel()
        who = self._calls([(tap, tap.calls, count)])
        parts = flat.split(CHUNK) if values.is_cpu else [flat]
        if self.twice:
            offset = parts[0].mean(dtype=torch.float32)
            parts_of = [(part - offset).float() for part in parts]
            mean = total(torch.sum, parts_of).div_(count)
            std = (total(torch.linalg.vector_norm, parts_of).square_().div_(count) - mean * mean).clamp_min_(0).sqrt_()
            mean += offset
        else:
            mean = total(torch.sum, parts, dtype=torch.float32).div_(count)
            std = total(torch.linalg.vector_norm, parts, dtype=torch.float32)
        self.pairs.append((self._put(mean.view(1), who, "activation_mean"), self._put(std.view(1), who, "activation_std"), count))
        if tap.relu:
            scratch = torch.empty_like(parts[0])
            signs = [torch.sign(part, out=scratch[:len(part)]).sum(dtype=torch.float32) for part in parts]
            self._put((torch.stack(signs).sum() if len(signs) > 1 else signs[0]).div(count).view(1), who, "active_share")

    # ------------------------------------------------------------------ many at once
    @torch.no_grad()
    def flush(self) -> None:
        """Read what is still held. Before backward begins, and before the step."""
        if self.pending:
            self.flush_small()
        for device in list(self.taken_rows):
            self._reduce_rows(device)
        if self.dead:
            self._put(torch.tensor([share for *_who, share in self.dead]), self._calls(self.dead), "dead_share")
            self.dead = []
        for held in self.units.values():
            self._put(dead(torch.stack([sums for *_tap, sums in held])), self._calls(held), "dead_share")
        self.units = {}

    @torch.no_grad()
    def flush_small(self) -> None:
        taps, calls, outputs, versions = zip(*self.pending)
        self.pending, self.held, key = [], 0, (id(taps[0]), len(taps))
        order = self.orders.get(key)
        if order is None or not unwritten(outputs, versions) or not order.fits(taps, calls, outputs):
            heard = []
            for tap, call, values, version in zip(taps, calls, outputs, versions):
                if values._version == version:
                    heard.append((tap, call, values))
                else:
                    tap.at_once = True  # overwritten since: a ReLU in place, say. From the next sample on it is read in the hook
            if not heard:
                return
            outputs = tuple(values for _tap, _call, values in heard)
            order = Order(heard, self._kind, self.exact)
            if order.lasts and len(heard) == len(taps) and len(self.orders) < KNOWN:
                self.orders[key] = order
        order.read(outputs, self)
        self.read.append(order)

    def _kind(self, values: torch.Tensor) -> Kind:
        plain = values.is_contiguous()
        key = values.shape, plain or values.stride(), values.dtype, values.get_device()
        if len(self.kinds) >= KNOWN:  # lengths that differ from batch to batch
            self.kinds = {}
        return self.kinds.setdefault(key, Kind(values, plain))

    def _reduce_rows(self, device) -> None:
        relus, others = self.taken_rows.pop(device)
        rows, first, count = self.kept[device][0], len(relus), len(relus) + len(others)
        others = others[::-1]  # as they lie
        moved = min(ROWS - count, len(others))
        if moved:  # the last ones into the gap
            rows[first:first + moved] = rows[-moved:]
            others = others[-moved:] + others[:-moved]
        self.moments(rows[:count], self._calls(relus + others))
        if relus:
            self.active_share(rows[:first], self._calls(relus))

    def living(self, rows: torch.Tensor, relus: Calls, units: tuple) -> None:
        """rows: (calls, entries) of ReLUs, overwritten by how often each unit is active; units: (outer, units, inner) of them"""
        outer, width, inner = units
        rows = rows.gt_(0)
        counts = rows.view(-1, outer, width).sum(1) if inner == 1 else rows.view(-1, *units).sum((1, 3))
        self._put(counts.mean(1).div_(outer * inner), relus, "active_share")
        self._put(dead(counts), relus, "dead_share")

    def dead_share(self, rows: torch.Tensor, relus: Calls, units: tuple) -> None:
        """rows: (calls, entries) of ReLUs, or of what they were given; units: (outer, units, inner) of them"""
        outer, width, inner = units
        largest = rows.view(-1, outer, width).amax(1) if inner == 1 else rows.view(-1, *units).amax((1, 3))
        self._put(largest.le_(0).mean(1), relus, "dead_share")

    def active_share(self, rows: torch.Tensor, relus: Calls) -> None:
        """rows: (calls, entries) of ReLUs, overwritten"""
        self._put(rows.gt_(0).mean(1), relus, "active_share")

    def moments(self, rows: torch.Tensor, who: Calls) -> None:
        """rows: (calls, entries)"""
        count = rows.shape[1]
        mean = rows.mean(1)
        if self.twice:
            std = torch.linalg.vector_norm(rows - mean[:, None], dim=1).mul_(1 / math.sqrt(count - 1))
        else:  # one pass less; the host makes a std of it
            std = torch.linalg.vector_norm(rows, dim=1)
        self.pairs.append((self._put(mean, who, "activation_mean"), self._put(std, who, "activation_std"), count))

    def _calls(self, who: list[tuple]) -> Calls:
        """who: (tap, call, entries, ...) each"""
        key = tuple([id(entry[0]) if entry[1] == 1 else 0 for entry in who])   # of none that is remembered, where one was called again
        calls = self.known.get(key)
        if calls is None:
            calls = Calls([entry[:3] for entry in who])
            if calls.first and len(self.known) < KNOWN:
                self.known[key] = calls
        return calls

    def _put(self, values: torch.Tensor, calls: Calls, quantity: str) -> np.ndarray:
        """values: (calls,). -> their columns"""
        columns = calls.columns.get(quantity)
        if columns is None:
            columns = []
            for tap, call, count, *_rest in calls.who:
                if call == 1:
                    columns.append(tap.columns[quantity])
                else:
                    self.extra += 1
                    self.again.append((tap, quantity, count, -self.extra))
                    columns.append(-self.extra)
            columns = np.array(columns)
            if calls.first:
                calls.columns[quantity] = columns
        self.readings.add(values, columns)
        return columns

    # ------------------------------------------------------------------ on the host
    def unfinished(self) -> tuple:
        """What `finish` needs, taken along by a frame that is still on its way."""
        for order in self.read if self.again else ():
            order.tell_entries()
        again = [(tap.columns, quantity, count, place, tap.entries) for tap, quantity, count, place in self.again]
        return self.pairs, self.twice, again

    def finish(self, table: np.ndarray, pairs: list, twice: bool, again: list) -> None:
        """Norms -> standard deviations, several calls of a module -> one. table: (samples, columns), overwritten; one sample where `again`"""
        if pairs:
            means, stds = self.means([pair[0] for pair in pairs]), self.stds([pair[1] for pair in pairs])
            square, variance = np.square(table[:, means], dtype=np.float64), np.square(table[:, stds], dtype=np.float64)
            if not twice:
                entries = [float(pair[2]) for pair in pairs]
                if stds is not self.counted[0] or entries != self.counted[3]:
                    counts = np.repeat(entries, [len(pair[0]) for pair in pairs])
                    self.counted = stds, 1 / counts, counts / (counts - 1), entries
                variance = variance * self.counted[1] - square
                table[:, stds] = np.sqrt(variance * self.counted[2])
            self.careful = not (square - CANCELS * variance).max() <= 0  # also where something is NaN
            if self.careful and not twice:
                at, which = np.nonzero(variance * USELESS < square)
                table[at, stds[which]] = blank(1)[0]
        if again:
            join(table[0], again)


def join(frame, again: list[tuple]) -> None:
    """Put the several calls of one module together, weighted by their entries; a unit is dead if it is in every call."""
    calls: dict[int, tuple] = {}
    for columns, quantity, count, place, first in again:
        columns_of = calls.setdefault(id(columns), (columns, {}, first))[1]
        columns_of.setdefault(quantity, []).append((count, float(frame[place])))
    for columns, rest, first in calls.values():
        told = {quantity: [(first, float(frame[at]))] * (first > 0) + rest.get(quantity, []) for quantity, at in columns.items()}
        means, stds = told["activation_mean"], told["activation_std"]
        total = sum(count for count, _ in means)
        if total and len(means) == len(stds):
            mean = sum(count * value for count, value in means) / total
            square = sum(count * (std * std + value * value) for (count, value), (_n, std) in zip(means, stds)) / total
            frame[columns["activation_mean"]] = mean
            frame[columns["activation_std"]] = math.sqrt(max(square - mean * mean, 0.0)) if square == square else math.nan
        if "active_share" in rest:
            shares = told["active_share"]
            frame[columns["active_share"]] = sum(count * value for count, value in shares) / max(1, sum(count for count, _ in shares))
        if "dead_share" in rest:
            frame[columns["dead_share"]] = min(value for _count, value in told["dead_share"])
