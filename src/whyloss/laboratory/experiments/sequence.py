"""What does each position of a sequence see, and which token is it asked for? Exact, by changing tokens of a copied batch.

The target of a position is read off the gradient that the loss sends to that position's logits: it is the only class that
the loss pulls up, however the loss was written. What a position sees is what changes its logits. Both are read at the start
and on the trained model: a mask of a finite constant holds at first and is outgrown later.
"""

import torch
from torch.overrides import TorchFunctionMode

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.lab import experiment
from whyloss.sources import place
from whyloss.sources.lossfunctions import LOSSES, LossCall, read_call
from whyloss.sources.sequences import sequences
from whyloss.sources.structure import tensors_in

SHIFTS = (1, 0, 2)
EXACT = 0.999      # share of targets that must be the shifted inputs
OTHER = 0.9        # below that, another shift does not explain the targets
SCORED = 16        # targets at least
ROUND_OFF = 1e-5   # of the largest logit: batched products may differ in the last bits
_MAKERS = {"linear", "matmul", "__matmul__", "__rmatmul__", "addmm", "bmm", "mm", "baddbmm", "einsum", "stack", "cat", "conv1d"}
_DIFFERENCES = {"sub", "__sub__", "rsub", "__rsub__"}
_READERS = {"gather", "take_along_dim", "one_hot", "__getitem__"}


class Ear(TorchFunctionMode):
    """Keeps what a replay computes on its way.

    made     results of matrix products and joins, in order: the logits are the last of them that the loss uses
    summary  results without a position axis of operations on tensors that have one: pinned to `pins`, if given
    """

    def __init__(self, length: int, pins: list | None = None):
        super().__init__()
        self.length, self.pins = length, pins
        self.made: list[torch.Tensor] = []
        self.summary: list = []
        self.loss_place = self.loss_call = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        result = func(*args, **kwargs)
        if name in LOSSES:
            self.loss_place, self.loss_call = place.here(2), read_call(name, args, kwargs)
        elif name in _DIFFERENCES and _compared(args):
            self.loss_place, self.loss_call = place.here(2), LossCall(name, *sorted(args[:2], key=lambda t: not t.requires_grad), "none")
        elif name in _READERS and self.loss_call is None and self.made:
            self.loss_place = place.here(2) or self.loss_place
        if not isinstance(result, torch.Tensor):
            return self._several(args, kwargs, result)
        if name in _MAKERS and result.requires_grad and result.dim() >= 2:
            self.made.append(result)
        elif self._summarises(args, kwargs, result):
            return self._pinned(result)
        return result

    def _summarises(self, args, kwargs, result) -> bool:
        if not result.is_floating_point() or self._has_positions(result) or not result.dim():
            return False
        return any(self._has_positions(t) for t in tensors_in((args, kwargs)))

    def _has_positions(self, tensor: torch.Tensor) -> bool:
        return any(self.length - 1 <= n <= self.length + 1 for n in tensor.shape)

    def _several(self, args, kwargs, result):
        """A recurrent layer returns its outputs and its last state; the state is a summary."""
        if type(result) is tuple and any(isinstance(t, torch.Tensor) for t in result):
            return tuple(self._pinned(t) if isinstance(t, torch.Tensor) and self._summarises(args, kwargs, t) else t for t in result)
        return result

    def _pinned(self, result):
        at = len(self.summary)
        self.summary.append(result.detach())
        if self.pins is not None and at < len(self.pins) and self.pins[at].shape == result.shape:
            return self.pins[at]
        return result


def _compared(args) -> bool:
    """Two operands of one size, of which one carries a gradient: a hand-written loss on numbers."""
    pair = args[:2]
    return len(pair) == 2 and all(isinstance(t, torch.Tensor) and t.is_floating_point() and t.dim() > 1 for t in pair) and \
        pair[0].numel() == pair[1].numel() and pair[0].requires_grad != pair[1].requires_grad


class Replay:
    """Replays one tape in eval mode on one state of the weights."""

    def __init__(self, lab, tape, arm):
        self.tape, self.arm = tape, arm
        arm.bindings.force_training = False

    def run(self, length: int, key: int | None = None, other=None, pins=None) -> tuple[torch.Tensor, Ear]:
        self.arm.bindings.change_constant = None if key is None else (lambda k, t: other if k == key else t)
        ear = Ear(length, pins)
        torch.manual_seed(0)  # the same noise in each pass
        with ear:
            loss = self.tape.replay(self.arm.bindings)
        return loss, ear


def trained(lab):
    """An arm with the weights that the user's models have now; None where they cannot be taken over."""
    arm = lab.program.fresh()
    try:
        with torch.no_grad():
            for key, copied in arm.modules.items():
                copied.load_state_dict(lab.program.originals[key].state_dict())
            for key, leaf in arm.leaves.items():
                leaf.copy_(lab.program.originals[key].detach())
    except Exception:  # reshaped, moved or quantised since
        return None
    finite = all(bool(torch.isfinite(leaf).all()) for leaf in arm.leaves.values() if leaf.is_floating_point())
    return arm if finite else None


# ---------------------------------------------------------------------- logits as (rows, positions, classes)
def layouts(shape, rows: int, length: int) -> list:
    """Functions that bring a tensor of that shape to (rows, positions, classes)."""
    found = []
    lengths = {length - 1, length, length + 1}
    if len(shape) == 3:
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2)):
            a, b, c = (shape[i] for i in order)
            if a == rows and b in lengths and c > 1:
                found.append(lambda t, o=order: t.permute(*o))
    elif len(shape) == 2:
        for n in lengths:
            if rows * n == shape[0] and n > 1:
                found.append(lambda t, n=n: t.reshape(rows, n, -1))
                if rows > 1:
                    found.append(lambda t, n=n: t.reshape(n, rows, -1).transpose(0, 1))
    return found


def joined_steps(made: list[torch.Tensor], rows: int, length: int) -> list[list[int]]:
    """Indexes of results with one tensor a position: a loop over time that scores each step by itself."""
    groups: dict[tuple, list[int]] = {}
    for at, t in enumerate(made):
        if t.dim() == 2 and t.shape[0] == rows:
            groups.setdefault(tuple(t.shape), []).append(at)
    return [group for group in groups.values() if length - 1 <= len(group) <= length]


class Reading:
    """Where the logits of a step are, and which shift of the inputs its targets are. None of it is assumed: see `read`."""

    def __init__(self, key, x, order, pick, shift, asked, place_):
        self.key, self.x, self.order, self.pick, self.shift, self.place = key, x, order, pick, shift, place_
        self.target, self.scored = asked
        self.tokens = not x.is_floating_point()


def read(replay: Replay) -> list[Reading]:
    """One reading for each input whose shifted values are the targets."""
    found = []
    line = next((n.place for n in reversed(replay.tape.nodes) if n.module is None and (n.name in LOSSES or n.name == "gather") and n.place), None)
    for key, x, order in sequences(replay.tape):
        loss, ear = replay.run(x.shape[1])
        if not loss.requires_grad:
            raise CannotReplay("the loss carries no gradient")
        for t in ear.made:
            t.retain_grad()
        loss.sum().backward()
        for reading in _candidates(ear, key, x, order):
            reading.place = line or reading.place
            found.append(reading)
            break
    return found


def _candidates(ear: Ear, key, x, order):
    rows, length = x.shape[:2]
    used = [at for at, t in enumerate(ear.made) if t.grad is not None and bool(t.grad.any())]
    picks = [([at], view) for at in reversed(used) for view in layouts(ear.made[at].shape, rows, length)]
    picks += [(group, None) for group in joined_steps(ear.made, rows, length)]
    for group, view in picks:
        def pick(made, g=group, v=view):
            if max(g) >= len(made):
                return None
            return v(made[g[0]]) if v is not None else torch.stack([made[at] for at in g], 1)

        gradient = pick([t.grad if t.grad is not None else torch.zeros_like(t) for t in ear.made])
        asked = _classes(gradient, x) if not x.is_floating_point() else _values(ear, gradient, x, pick)
        if asked is None:
            continue
        fit = {shift: _share(*asked, x, shift) for shift in SHIFTS}
        shift = next((s for s in SHIFTS if fit[s] >= EXACT and all(fit[o] < OTHER for o in SHIFTS if o != s)), None)
        if shift is not None and not _rolled(*asked, x, shift):
            yield Reading(key, x, order, pick, shift, asked, ear.loss_place)


def _classes(gradient, x):
    """(targets, scored): the class each position is pulled to. None unless the gradient is that of a class loss."""
    if gradient.shape[-1] <= int(x.max()) or int(x.min()) < 0 or len(x.unique()) < 3:
        return None
    size = gradient.abs().sum(-1)
    if float(gradient.sum(-1).abs().max()) > 1e-3 * float(size.max()):
        return None
    return gradient.argmin(-1), size > 1e-6 * size.max()


def _values(ear: Ear, gradient, x, pick):
    """(targets, scored) of a loss on numbers, where its call was seen and has an entry for each of the model's."""
    call = ear.loss_call
    if call is None or call.target is None or not call.target.is_floating_point() or call.target.numel() != gradient.numel():
        return None
    if gradient.shape[-1] != x.shape[-1] or float(x.std()) == 0:
        return None
    target = call.target.detach()
    forms = [target.reshape(gradient.shape)] + [target.permute(*o) for o in ((0, 2, 1), (1, 0, 2)) if target.dim() == 3]
    every = torch.ones(gradient.shape[:2], dtype=torch.bool)
    fits = [t for t in forms if t.shape == gradient.shape and max(_share(t, every, x, s) for s in SHIFTS) >= EXACT]
    return (fits[0], gradient.abs().sum(-1) > 0) if fits else None


def _share(target, scored, x, shift: int) -> float:
    """Share of the scored targets that equal the inputs `shift` positions later."""
    end = min(target.shape[1], x.shape[1] - shift)
    if end < 2:
        return 0.0
    same = target[:, :end] == x[:, shift:shift + end]
    if same.dim() == 3:
        same = same.all(-1)
    counted = scored[:, :end]
    return float(same[counted].float().mean()) if int(counted.sum()) >= SCORED else 0.0


def _rolled(target, scored, x, shift: int) -> bool:
    """The last target is the row's first input: the task is to turn the row round, not to predict it."""
    if shift == 0 or target.shape[1] != x.shape[1] or not bool(scored[:, -1].any()) or x.shape[0] < 4:
        return False
    return bool((target[:, -1] == x[:, shift - 1]).all())


# ---------------------------------------------------------------------- what a position sees
def leads(replay: Replay, reading: Reading) -> dict | None:
    """{"lead", "past", "size", "summary"}: how far ahead of itself a position sees, whether it sees its past, the largest
    change of a logit by a later token, and whether all of that passes through one summary of the sequence."""
    x = reading.x
    length = x.shape[1]
    _, ear = replay.run(length)
    before = reading.pick(ear.made)
    if before is None:
        return None
    before = before.detach()
    found = {"lead": None, "past": False, "size": 0.0, "summary": True}
    for at in sorted({length - 1, length // 2, max(1, length // 4)}):
        other, rows = _changed(x, at)
        if not len(rows):
            continue
        given = other.permute(*reading.order)
        after = _logits(replay, reading, given, None)
        if after is None or after.shape != before.shape:
            return None
        moved = _moved(before, after, rows)
        seen = torch.nonzero(moved).flatten()
        if not len(seen):
            continue
        lead = at - int(seen[0])
        found["past"] |= bool((seen > at).any())
        if found["lead"] is None or lead > found["lead"]:
            found["lead"] = lead
        if lead > 0:
            found["size"] = max(found["size"], float((after - before)[rows][:, :at].abs().max()))
            found["at"] = at
            pinned = _logits(replay, reading, given, ear.summary)
            found["summary"] &= pinned is not None and not bool(_moved(before, pinned, rows)[:at].any())
    return found


def _logits(replay, reading, given, pins):
    _, ear = replay.run(reading.x.shape[1], reading.key, given, pins)
    made = reading.pick(ear.made)
    return None if made is None else made.detach()


def _moved(before, after, rows) -> torch.Tensor:
    """Which positions' logits changed. -> (positions,) bool"""
    least = ROUND_OFF * float(before.abs().max().clamp_min(1e-12))
    return ((after - before)[rows].abs() > least).flatten(2).any(-1).any(0)


def _changed(x, at: int):
    """(the inputs with another value at one position, rows changed). Padding stays padding: it changes what is masked."""
    other = x.clone()
    if x.is_floating_point():
        other[:, at] = x[:, at] + 0.5 * x.std() + 0.1
        return other, torch.arange(len(x))
    padding = _padding(x)
    pool = [v for v in x[:, :max(2, x.shape[1] // 2)].unique().tolist() if v != padding]
    rows = torch.nonzero(x[:, at] != padding).flatten() if padding is not None else torch.arange(len(x))
    for row in rows.tolist():
        value = int(x[row, at])
        other[row, at] = pool[(pool.index(value) + 1) % len(pool)] if value in pool else pool[0]
    return other, rows if len(pool) > 1 else rows[:0]


def _padding(x) -> int | None:
    """The token that several rows end with twice or more."""
    ends = x[x[:, -1] == x[:, -2]][:, -1]
    if len(ends) < 2:
        return None
    value = int(ends.mode().values)
    return value if int((ends == value).sum()) >= max(2, len(ends) // 2) else None


# ---------------------------------------------------------------------- the two experiments
def survey(lab) -> list[dict]:
    """Each reading of the first step with what its positions see at the start and on the trained model."""
    known = lab.cache.get("sequence survey")
    if known is not None:
        return known
    _, tape = first_tape(lab)
    start = Replay(lab, tape, lab.program.fresh())
    rows = []
    readings = read(start)
    now = trained(lab) if readings else None
    for reading in readings:
        states = {"start": leads(start, reading)}
        if now is not None:
            states["trained"] = leads(Replay(lab, tape, now), reading)
        rows.append({"reading": reading, **{k: v for k, v in states.items() if v is not None and v["lead"] is not None}})
    lab.cache["sequence survey"] = rows
    return rows


def _states(row) -> list[tuple[str, dict]]:
    return [(name, row[name]) for name in ("start", "trained") if name in row]


@experiment("future-dependence")
def future_dependence(lab, asks):
    """Tokens after a position are changed; where the targets are the inputs one later, its logits must stay. Records `shown`."""
    rows = [row for row in survey(lab) if row["reading"].shift == 1 and _states(row)]
    if not rows:
        return {"experiment": "future-dependence", "change": "the targets are not the inputs shifted by one", "before": 0.0, "after": 0.0, "steps": 1}
    leaking = [(row, name, state) for row in rows for name, state in _states(row) if state["lead"] > 0 and not state["summary"]]
    blind = [row for row in rows if all(state["lead"] <= 0 for _, state in _states(row))]
    shown = bool(leaking) and not blind  # another input with the same tokens that is read causally: the leaking one is the source
    lab.clear("future-dependence")
    lab.evidence.add("shown", shown, run="future-dependence")
    if not leaking:
        return {"experiment": "future-dependence", "before": 0.0, "after": 0.0, "steps": 1,
                "change": "later tokens changed: no earlier position moves"}
    row, name, state = leaking[0]
    module, where = _first_leak(lab, row["reading"], name, state["at"]) if shown else (None, None)
    return {"experiment": "future-dependence", "before": 0.0, "after": state["size"], "steps": 1, "first_module": module, "place": where,
            "change": f"token {state['at']} changed: logits up to {state['lead']} positions earlier change by {state['size']:.3g}"
                      + (" on the trained model, not at the start" if name == "trained" else "") + (f", first in {module}" if module else "")}


@experiment("target-shift")
def target_shift(lab, asks):
    """Which token is each position asked for, and which does it see? Records `shown` and `gap`: 1 is right, 0 a copy, 2 one too far."""
    rows = [row for row in survey(lab) if row["reading"].tokens and _states(row)]
    if not rows:
        return {"experiment": "target-shift", "change": "the targets are no shifted inputs", "before": 1.0, "after": 1.0, "steps": 1}
    gaps = []
    for row in rows:
        state = _states(row)[-1][1]
        gaps.append(row["reading"].shift - state["lead"] if state["past"] and all(s["lead"] <= 0 for _, s in _states(row)) else None)
    wrong = [(row, gap) for row, gap in zip(rows, gaps) if gap in (0, 2)]
    shown = bool(wrong) and 1 not in gaps
    lab.clear("target-shift")
    lab.evidence.add("shown", shown, run="target-shift")
    gap = wrong[0][1] if wrong else 1
    words = {0: "asked for the token that it sees", 1: "asked for the token after the last that it sees",
             2: "asked for the token after next"}[gap]
    return {"experiment": "target-shift", "change": f"each position is {words}", "before": 1.0, "after": float(gap), "steps": 1,
            "place": wrong[0][0]["reading"].place if wrong else None, "gap": gap}


def _first_leak(lab, reading, name: str, at: int) -> tuple[str | None, str | None]:
    """(innermost module, line) of the first result in which a position before the changed one moved."""
    arm = trained(lab) if name == "trained" else lab.program.fresh()
    _, tape = first_tape(lab)
    replay = Replay(lab, tape, arm)
    other, _ = _changed(reading.x, at)
    passes = []
    for given in (reading.x, other):
        kept: list = []
        hooks = [part.register_forward_hook(lambda _m, _i, out, n=name_, k=kept: k.append((n, next(tensors_in(out), None), place.here(2))))
                 for module in arm.modules.values() for name_, part in module.named_modules() if name_]
        try:
            replay.run(reading.x.shape[1], reading.key, given.permute(*reading.order))
        finally:
            for hook in hooks:
                hook.remove()
        passes.append(kept)
    rows, length = reading.x.shape[:2]
    for (part, before, where), (_, after, _) in zip(*passes):
        if before is None or after is None or before.shape != after.shape or not before.is_floating_point():
            continue
        axes = [a for a, n in enumerate(before.shape) if n == length]
        if len(axes) != 1 and not (before.dim() == 3 and before.shape[:2] in ((rows, length), (length, rows))):
            continue
        axis = axes[0] if len(axes) == 1 else (1 if before.shape[0] == rows and before.shape[1] == length else 0)
        difference = (after - before).abs() > ROUND_OFF * float(before.abs().max().clamp_min(1e-12))
        if bool(difference.movedim(axis, 0)[:at].any()):
            return part, where
    return None, None
