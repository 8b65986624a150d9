"""Outputs of modules -> mean, std, share of active entries and of dead units, a few kernels for many modules.

Small outputs are remembered and read together, those of one shape as the rows of one matrix; of big ones the fixed entries
are taken at once. No output is held longer than until backward begins.
"""

import math

import numpy as np
import torch

from whyloss.sources.monitor.entries import COUNT, SMALL, Entries, in_memory_order, numbers
from whyloss.sources.monitor.readings import Readings
from whyloss.sources.monitor.taps import CALLS, output_of

TOGETHER = 32         # small outputs read together: their copy stays in the cache
MOST = 1 << 20        # entries of them
ROWS = 8              # big outputs whose entries are reduced together
KNOWN = 1024          # sets of modules whose columns are remembered
CHUNK = 1 << 16       # entries whose sums stay exact in single precision
_in_backward = torch._C._current_graph_task_id
_functorch = torch._C._functorch.maybe_current_level


class Activations:
    """What the taps of a model hear in one sample. `open` while there is a sample."""

    def __init__(self, entries: Entries, on_error, *, exact: bool = False):
        self.entries, self.on_error, self.exact = entries, on_error, exact
        self.open = False
        self.seconds = 0.0
        self.known: dict[tuple, np.ndarray] = {}
        self.end()

    def begin(self, readings: Readings) -> None:
        self.end()
        self.readings, self.open = readings, True

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
        self.rows: dict[torch.device, tuple] = {}
        self.units: dict[tuple, tuple] = {}
        self.again: list[tuple] = []          # (tap, quantity, entries, extra place) of a module's second call and later ones

    # ------------------------------------------------------------------ in the hook
    def hear(self, tap, output) -> None:
        try:
            # not inside a transform of torch.func; and checkpointing calls a module a second time inside of backward
            if tap.calls >= CALLS or _functorch() is not None or (tap.calls and _in_backward() != -1):
                return
            if type(output) is torch.Tensor and output.dtype is torch.float32:
                values = output
            else:
                values = numbers(output_of(output))
                if values is None:
                    return
            count = values.numel()
            if count < 2:
                return
            tap.calls += 1
            if tap.calls == 1:
                tap.entries = count
            if count > SMALL:
                with torch.no_grad():
                    self._big(tap, values.detach())
                return
            if tap.at_once:
                values = values.detach().clone()
            self.pending.append((tap, tap.calls, values, values._version))
            self.held += count
            if len(self.pending) >= TOGETHER or self.held > MOST:
                self.flush_small()
        except Exception as error:
            self.on_error(error)

    def _big(self, tap, values: torch.Tensor) -> None:
        if self.exact:
            self._whole(tap, values)
        else:
            device = values.device
            held = self.rows.get(device)
            if held is None:
                rows = torch.empty(ROWS, COUNT, dtype=torch.float32, device=device)
                held = self.rows[device] = rows, rows.unbind(0), []
            taps = held[2]
            self.entries.gather(values, held[1][len(taps)])
            taps.append((tap, tap.calls, values.numel()))
            if len(taps) == ROWS:
                self._reduce_rows(device)
        if tap.relu:
            outer, units, inner = layout(values)
            flat = in_memory_order(values)
            flat = flat.view(outer, units) if inner == 1 else flat.view(outer, units, inner)
            sums = flat.sum(0 if inner == 1 else (0, 2), dtype=torch.float32)
            self.units.setdefault((units, values.device), []).append((tap, tap.calls, values.numel(), sums))

    def _whole(self, tap, values: torch.Tensor) -> None:
        """Every entry, chunk by chunk; the mean of the first chunk is taken off first, so that nothing cancels."""
        flat = in_memory_order(values)
        shift = flat[:CHUNK].mean(dtype=torch.float32)
        offset = shift.to(flat.dtype)
        chunk = CHUNK if flat.device.type == "cpu" else flat.numel()
        sums, squares = [], []
        for part in flat.split(chunk):
            part = (part - offset).float()
            sums.append(part.sum())
            squares.append(torch.dot(part, part))
        count = flat.numel()
        mean = torch.stack(sums).double().sum() / count
        std = (torch.stack(squares).double().sum() / count - mean * mean).clamp_min(0).sqrt()
        moments = torch.stack([mean + offset.double(), std]).float()
        self._put(moments[:1], [(tap, tap.calls, count)], "activation_mean")
        self._put(moments[1:], [(tap, tap.calls, count)], "activation_std")
        if tap.relu:
            self._put(flat.sign().sum(dtype=torch.float32).div(count).view(1), [(tap, tap.calls, count)], "active_share")

    # ------------------------------------------------------------------ many at once
    @torch.no_grad()
    def flush(self) -> None:
        """Read what is still held. Before backward begins, and before the step."""
        if self.pending:
            self.flush_small()
        for device in list(self.rows):
            self._reduce_rows(device)
        for (units, _device), held in self.units.items():
            dead = torch.stack([sums for *_tap, sums in held]).eq(0).sum(1, dtype=torch.float32).div_(units)
            self._put(dead, [tuple(who) for *who, _sums in held], "dead_share")
        self.units = {}

    @torch.no_grad()
    def flush_small(self) -> None:
        groups: dict[tuple, list] = {}
        for tap, call, values, version in self.pending:
            if values._version != version:
                tap.at_once = True  # overwritten since: a ReLU in place, say. From the next sample on it is read in the hook
                continue
            if values.is_contiguous():
                key = (values.shape, None, values.dtype, values.device)
            else:
                key = (values.numel(), layout(values), values.dtype, values.device)
                values = in_memory_order(values)
            groups.setdefault(key, ([], []))[not tap.relu].append((tap, call, values))
        self.pending, self.held = [], 0
        for (_shape, units, *_rest), (relus, others) in groups.items():  # ReLUs first, so that theirs are a slice of the rows
            held = relus + others
            first = held[0][2]
            count = first.numel()
            rows = torch.cat([values for _tap, _call, values in held]).view(len(held), count)
            who = [(tap, call, count) for tap, call, _values in held]
            self._moments(rows if rows.dtype is torch.float32 else rows.float(), who, len(relus), units or layout(first))

    def _reduce_rows(self, device) -> None:
        rows, _single_rows, taps = self.rows.pop(device)
        if taps:
            order = sorted(range(len(taps)), key=lambda at: not taps[at][0].relu)
            rows = rows[:len(taps)] if order == list(range(len(taps))) else rows[order]
            self._moments(rows, [taps[at] for at in order], sum(tap.relu for tap, *_rest in taps), None)

    def _moments(self, rows: torch.Tensor, who: list, relus: int, units) -> None:
        """rows: (modules, entries), overwritten, the first `relus` those of ReLUs; units: (outer, units, inner) of them, if whole outputs"""
        count = rows.shape[1]
        mean = rows.mean(1)
        if relus:
            mine = rows[:relus]
            if units is not None:
                outer, width, inner = units
                sums = mine.view(relus, outer, width).sum(1) if inner == 1 else mine.view(relus, *units).sum((1, 3))
                self._put(sums.eq_(0).mean(1), who[:relus], "dead_share")
            self._put(mine.sign().mean(1), who[:relus], "active_share")
        std = torch.linalg.vector_norm(rows.sub_(mean[:, None]), dim=1).mul_(1 / math.sqrt(count - 1))
        self._put(mean, who, "activation_mean")
        self._put(std, who, "activation_std")

    def _put(self, values: torch.Tensor, who: list, quantity: str) -> None:
        """values: (modules,). The columns of the same modules are looked up once."""
        key = (quantity, *[id(tap) if call == 1 else 0 for tap, call, _count in who])
        columns = self.known.get(key)
        if columns is None:
            columns = []
            for tap, call, count in who:
                if call == 1:
                    columns.append(tap.columns[quantity])
                else:
                    self.extra += 1
                    self.again.append((tap, quantity, count, -self.extra))
                    columns.append(-self.extra)
            columns = np.array(columns)
            if 0 not in key and len(self.known) < KNOWN:
                self.known[key] = columns
        self.readings.add(values, columns)

    # ------------------------------------------------------------------ on the host
    def joined(self) -> list[tuple]:
        """What `join` needs, taken along by a frame that is still on its way."""
        return [(tap.columns, quantity, count, place, tap.entries) for tap, quantity, count, place in self.again]


def join(frame, again: list[tuple]) -> None:
    """Put the several calls of one module together, weighted by their entries; a unit is dead if it is in every call."""
    calls: dict[int, tuple] = {}
    for columns, quantity, count, place, first in again:
        columns_of = calls.setdefault(id(columns), (columns, {}, first))[1]
        columns_of.setdefault(quantity, []).append((count, float(frame[place])))
    for columns, rest, first in calls.values():
        means = [(first, float(frame[columns["activation_mean"]])), *rest.get("activation_mean", [])]
        stds = [(first, float(frame[columns["activation_std"]])), *rest.get("activation_std", [])]
        total = sum(count for count, _ in means)
        if total and len(means) == len(stds):
            mean = sum(count * value for count, value in means) / total
            square = sum(count * (std * std + value * value) for (count, value), (_n, std) in zip(means, stds)) / total
            frame[columns["activation_mean"]] = mean
            frame[columns["activation_std"]] = math.sqrt(max(square - mean * mean, 0.0)) if square == square else math.nan
        if "active_share" in rest and "active_share" in columns:
            shares = [(first, float(frame[columns["active_share"]])), *rest["active_share"]]
            frame[columns["active_share"]] = sum(count * value for count, value in shares) / max(1, sum(count for count, _ in shares))
        if "dead_share" in rest and "dead_share" in columns:
            frame[columns["dead_share"]] = min(float(frame[columns["dead_share"]]), *(value for _count, value in rest["dead_share"]))


def layout(values: torch.Tensor) -> tuple[int, int, int]:
    """Where a unit's entries lie in memory: (outer, units, inner). Channels of pictures, else the last axis."""
    if values.dim() < 4:
        units = values.shape[-1] if values.dim() else 1
        return values.numel() // units, units, 1
    batch, channels = values.shape[:2]
    if values.is_contiguous():
        return batch, channels, values.numel() // (batch * channels)
    return values.numel() // channels, channels, 1  # channels last
