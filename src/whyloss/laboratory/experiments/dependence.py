"""Does each sample stay itself? Exact, by changing one sample and comparing bits."""

import contextlib
from dataclasses import replace

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.bench import Bench, which_right, z_of_shares
from whyloss.laboratory.experiments.overfit import batch_size, first_tape
from whyloss.laboratory.experiments.pairs import input_key
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.mixing import Ear, first_line

ASKED = 400           # rows scored in batches of the one and of the other size
FALL, SURE = 0.15, 5  # of the share right, and standard errors


def _outputs(lab, tape, change, ear=None):
    """Output of the last root call in eval mode under a change of the input, and every submodule's output on the way."""
    arm = lab.program.fresh()
    arm.bindings.force_training = False
    arm.bindings.change_constant = change
    seen: dict[str, torch.Tensor] = {}
    hooks = []
    for module in arm.modules.values():
        for name, part in module.named_modules():
            if hasattr(part, "disable_observer"):  # fake quantization sets its range by the whole batch, in eval mode too, until it is calibrated
                part.disable_observer()
            if name:
                hooks.append(part.register_forward_hook(
                    lambda _m, _i, out, n=name: seen.setdefault(n, out.detach().clone()) if isinstance(out, torch.Tensor) else None))
    root = [n for n in tape.nodes if n.module is not None][-1]
    torch.manual_seed(0)  # the same noise in both passes: a sampled latent must not look like another sample's influence
    try:
        with torch.no_grad(), ear or contextlib.nullcontext():
            made = tape.run(arm.bindings)
    finally:
        for hook in hooks:
            hook.remove()
    output = next((made[s] for s in root.outputs if made[s].is_floating_point() and made[s].dim()), None)
    return output, seen


def _perturbed(target, axis: int, row: int):
    """The given input with one entry of an axis changed."""
    other = target.clone()
    here = (slice(None),) * axis + (row,)
    if target.is_floating_point():
        other[here] = target[here] + 0.5 * target.float().std().to(target.dtype) + 0.1
    else:
        other[here] = target[(slice(None),) * axis + ((row + 1) % target.shape[axis],)]
    return lambda key, tensor: other if tensor is target else tensor


def _batch_axes(given, output, size: int, named: bool) -> list[tuple[int, int]]:
    """(axis of the input, axis of the output) that may be the batch: the first, or for sequences that begin with time the second.

    Where both fit, samples are mixed only if neither keeps its entries apart; a layer that is under suspicion settles it: then it is the first.
    """
    axes = [(0, 0)] if output.shape[0] == size else []
    sequence = given.dim() >= 3 or given.dim() == 2 and not given.is_floating_point()
    if sequence and not named and given.shape[1] >= 3:
        if axes and output.dim() >= 2 and output.shape[1] == given.shape[1]:
            axes.append((1, 1))
        elif not axes and output.shape[0] == given.shape[1]:
            axes.append((1, 0))
    return axes


@experiment("batch-dependence")
def batch_dependence(lab, asks):
    """One sample is changed; in eval mode only its own output row may change. Records `shown`, `rows_changed`, `first_module`.

    asks: module  the layer under suspicion      harm  True: only if it also changes what the trained model answers, in batches of the
                  evaluation's size
    """
    _, tape = first_tape(lab)
    size = batch_size(tape)
    if not any(n.module is not None for n in tape.nodes) or not size or size < 3:
        raise CannotReplay("there is no root module called with a batch of at least 3 samples")
    key = input_key(tape)
    if key is None:
        raise CannotReplay("the input of the model was not captured")
    given = tape.constants[key]
    before, parts_before = _outputs(lab, tape, None)
    axes = _batch_axes(given, before, size, bool(asks.get("module"))) if before is not None else []
    if not axes:
        raise CannotReplay("the output has no batch axis")
    for into, out in axes:
        size = given.shape[into]
        row = size // 2
        after, parts_after = _outputs(lab, tape, _perturbed(given, into, row))
        rows = _moved(before, after, out, row)
        deaf = torch.equal(before, after)
        first = next((name for name in parts_before if _mixes(parts_before[name], parts_after.get(name), (into, out), size, row)), None)
        if not rows:
            break
    lab.clear("batch-dependence")
    # a layer that mixes, and behind it an output that depends on no input: what mattered of a sample went to the others
    lost = bool(asks.get("module")) and deaf and first is not None
    harm = _harm(lab) if asks.get("harm") and rows else None
    if asks.get("harm") and harm is None:
        rows = []
    for name, value in (("shown", bool(rows) or lost), ("rows_changed", len(rows)), ("first_module", first)):
        lab.evidence.add(name, value, run="batch-dependence")
    seen = f"no output changes, not even its own, while inside {first} others do" if lost else \
        f"{len(rows)} of {size - 1} other outputs change" + (f", first in {first}" if rows and first else "")
    outcome = {"experiment": "batch-dependence", "change": f"sample {row} changed: {seen}",
               "before": 0.0, "after": float(len(rows)), "steps": 1, "shown": bool(rows) or lost, "first_module": first}
    if outcome["shown"]:
        ears = Ear(), Ear()
        _outputs(lab, tape, None, ears[0]), _outputs(lab, tape, _perturbed(given, into, row), ears[1])
        outcome["place"] = first_line(*ears, size, row, _moved)
    return outcome | ({"said": f"{outcome['change']}; {harm}"} if harm else {})


def _harm(lab) -> str | None:
    """What the trained model answers to rows it was trained on, in batches of the evaluation's size: far worse than in those of the training?"""
    bench = Bench(lab)
    sizes = [len(p.inputs[0]) for p in lab.program.holdout if p.module == bench.call.module]
    other = max(sizes, default=0)
    if not other or bench.size // 2 < other < 2 * bench.size:
        return None
    pairs, arm = bench.train.rows(slice(0, ASKED)), bench.trained()
    together, apart = (_right(bench, arm, pairs, size) for size in (bench.size, other))
    if together is None or apart is None:
        return None
    fall = float(together.float().mean() - apart.float().mean())
    if fall < FALL or z_of_shares(together, apart) < SURE:
        return None
    return f"the trained model is right on {float(together.float().mean()):.2f} of {len(pairs)} training rows in batches of {bench.size} and on " \
           f"{float(apart.float().mean()):.2f} of the same rows in batches of {other}, as in the evaluation (both in eval mode)"


def _right(bench, arm, pairs, size: int) -> torch.Tensor | None:
    """Which rows are answered right, in batches of that size. The loss is left out: its own constants have the step's size."""
    upto = bench.tape.nodes.index(bench.call) + 1
    tape, found = replace(bench.tape, nodes=bench.tape.nodes[:upto]), []
    arm.bindings.force_training = False
    with torch.no_grad():
        for at in range(0, len(pairs), size):
            part = pairs.rows(slice(at, at + size))
            given = dict(zip(bench.keys, part.inputs))
            arm.bindings.change_constant = lambda key, t, g=given: g.get(key, t)
            made = tape.run(arm.bindings)
            found.append(which_right(made[bench.call.outputs[0]], part.labels))
    return None if any(r is None for r in found) else torch.cat(found)


def _mixes(before, after, axes, size: int, row: int) -> bool:
    """Whether other rows of a submodule's output changed, along the axis on which it holds the batch."""
    if after is None or before.shape != after.shape:
        return False
    axis = next((a for a in axes if before.dim() > a and before.shape[a] == size), None)
    return axis is not None and bool(_moved(before, after, axis, row))


def _moved(before, after, axis: int, row: int) -> list[int]:
    """Other rows whose output moved by more than round-off (batched matrix products may differ in the last bits)."""
    least = 1e-5 * float(before.abs().max().clamp_min(1e-12))
    moved = ((before - after).abs() > least).movedim(axis, 0).reshape(before.shape[axis], -1).any(1)
    return sorted(set(torch.nonzero(moved).flatten().tolist()) - {row})
