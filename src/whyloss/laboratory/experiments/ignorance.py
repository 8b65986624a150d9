"""Does the output depend on the input for any weights at all? The rows of every input are exchanged on copies."""

import torch
from torch.overrides import TorchFunctionMode

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.overfit import batch_size, first_tape
from whyloss.laboratory.experiments.sequence import trained
from whyloss.laboratory.lab import experiment
from whyloss.sources import place
from whyloss.sources.structure import tensors_in


class Diary(TorchFunctionMode):
    """Of each operation: its name, its line, its tensors by value before and after."""

    def __init__(self):
        super().__init__()
        self.rows: list[tuple] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [t.detach().clone() for t in tensors_in((args, kwargs))]
        result = func(*args, **kwargs)
        made = [t.detach().clone() for t in tensors_in(result)]
        if made:
            self.rows.append((getattr(func, "__name__", ""), place.here(2), given, made))
        return result


def _random(lab, seed: int):
    """An arm with other weights everywhere: zero gates, dead units and saturated layers of the real one are gone."""
    arm = lab.program.fresh()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for leaf in arm.leaves.values():
            if leaf.is_floating_point():
                noise = torch.randn(leaf.shape, generator=generator).to(leaf)
                leaf.copy_(noise / max(1.0, leaf[0].numel() ** 0.5) if leaf.dim() >= 2 else 1 + 0.3 * noise)  # a bias of -10 kills units
    return arm


def _run(arm, tape, keys, diary=None):
    arm.bindings.force_training = False
    arm.bindings.change_constant = (lambda key, t: t.flip(0) if key in keys else t) if keys else None
    root = [n for n in tape.nodes if n.module is not None][-1]
    torch.manual_seed(0)
    with torch.no_grad():
        if diary is None:
            made = tape.run(arm.bindings)
        else:
            with diary:
                made = tape.run(arm.bindings)
    return [made[s] for s in root.outputs if s in made]


def _same(first, second) -> bool:
    return len(first) == len(second) and all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(first, second))


@experiment("input-dependence")
def input_dependence(lab, asks):
    """The rows of all inputs are reversed; the outputs must stay bit for bit, at the start, after training and for two sets of random weights."""
    _, tape = first_tape(lab)
    size, calls = batch_size(tape), [n for n in tape.nodes if n.module is not None]
    keys = {ref for n in calls for ref in n.inputs if isinstance(ref, int) and tape.constants[ref].dim() and tape.constants[ref].shape[0] == size}
    keys = {k for k in keys if not torch.equal(tape.constants[k], tape.constants[k].flip(0))}
    if not keys or not size or size < 2:
        raise CannotReplay("no model is called with a batch of samples that differ")
    if not keys.issuperset(k for k in calls[-1].inputs if isinstance(k, int)) or len({n.module for n in calls}) > 1:
        raise CannotReplay("several models work together: what one is given need not reach the last one")
    if tape.loss.index in calls[-1].outputs:
        raise CannotReplay("the loss is computed inside the model")
    arms = [arm for arm in (lab.program.fresh(), trained(lab), _random(lab, 1), _random(lab, 2)) if arm is not None]
    changes = []
    for arm in arms:
        before, after = _run(arm, tape, ()), _run(arm, tape, keys)
        if not before:
            raise CannotReplay("the model's output is no tensor of numbers")
        if not all(torch.isfinite(t).all() for t in before if t.is_floating_point()):
            raise CannotReplay("the outputs are not finite")
        changes.append(0.0 if _same(before, after) else max([float((a.float() - b.float()).detach().abs().max()) for a, b in zip(before, after)
                                                              if a.shape == b.shape] + [1e-12]))
    shown = not any(changes)
    lab.clear("input-dependence")
    lab.evidence.add("shown", shown, run="input-dependence")
    name, where = _lost_at(lab, tape, keys) if shown else (None, None)
    return {"experiment": "input-dependence", "before": 0.0, "after": max(changes), "steps": 1, "shown": shown, "place": where,
            "change": f"the inputs of the samples exchanged, with {len(arms)} sets of weights"
                      + (f": the last operation that still saw a difference is {name}" if name else "")}


def _lost_at(lab, tape, keys) -> tuple[str | None, str | None]:
    """(name, line) of the last operation that is given something else and makes the same; the model's first line if there is none."""
    first, second = Diary(), Diary()
    _run(_random(lab, 1), tape, (), first)
    _run(_random(lab, 1), tape, keys, second)
    found = None
    for (name, where, given, made), (_, _, other, result) in zip(first.rows, second.rows):
        if name != "__get__" and not _same(given, other) and _same(made, result):
            found = (name, where)
    return found or (None, first.rows[0][1] if first.rows else None)
