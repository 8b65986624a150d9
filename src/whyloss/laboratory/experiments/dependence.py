"""Does each sample stay itself? Exact, by changing one sample and comparing bits."""

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.overfit import batch_size, first_tape
from whyloss.laboratory.experiments.pairs import input_key
from whyloss.laboratory.lab import experiment


def _outputs(lab, tape, change):
    """Output of the last root call in eval mode under a change of the input, and every submodule's output on the way."""
    arm = lab.program.fresh()
    arm.bindings.force_training = False
    arm.bindings.change_constant = change
    seen: dict[str, torch.Tensor] = {}
    hooks = []
    for module in arm.modules.values():
        for name, part in module.named_modules():
            if name:
                hooks.append(part.register_forward_hook(
                    lambda _m, _i, out, n=name: seen.setdefault(n, out.detach().clone()) if isinstance(out, torch.Tensor) else None))
    root = [n for n in tape.nodes if n.module is not None][-1]
    torch.manual_seed(0)  # the same noise in both passes: a sampled latent must not look like another sample's influence
    try:
        with torch.no_grad():
            made = tape.run(arm.bindings)
    finally:
        for hook in hooks:
            hook.remove()
    output = next((made[s] for s in root.outputs if made[s].is_floating_point() and made[s].dim()), None)
    return output, seen


def _perturbed(tape, row: int):
    given = input_key(tape)
    if given is None:
        raise CannotReplay("the input of the model was not captured")
    target = tape.constants[given]
    other = target.clone()
    if target.is_floating_point():
        other[row] = target[row] + 0.5 * target.float().std().to(target.dtype) + 0.1
    else:
        other[row] = target[(row + 1) % len(target)]
    return lambda key, tensor: other if tensor is target else tensor


@experiment("batch-dependence")
def batch_dependence(lab, asks):
    """One sample is changed; in eval mode only its own output row may change. Records `shown`, `rows_changed`, `first_module`."""
    _, tape = first_tape(lab)
    size = batch_size(tape)
    if not any(n.module is not None for n in tape.nodes) or not size or size < 3:
        raise CannotReplay("there is no root module called with a batch of at least 3 samples")
    row = size // 2
    before, parts_before = _outputs(lab, tape, None)
    after, parts_after = _outputs(lab, tape, _perturbed(tape, row))
    if before is None or before.shape[0] != size:
        raise CannotReplay("the output has no batch axis")
    rows = _moved(before, after, size, row)
    first = next((name for name in parts_before if _mixes(parts_before[name], parts_after.get(name), size, row)), None)
    lab.clear("batch-dependence")
    for name, value in (("shown", bool(rows)), ("rows_changed", len(rows)), ("first_module", first)):
        lab.evidence.add(name, value, run="batch-dependence")
    return {"experiment": "batch-dependence", "change": f"sample {row} changed: {len(rows)} of {size - 1} other outputs change"
            + (f", first in {first}" if rows and first else ""), "before": 0.0, "after": float(len(rows)), "steps": 1, "shown": bool(rows), "first_module": first}


def _mixes(before, after, size: int, row: int) -> bool:
    """Whether other rows of a submodule's output changed (first axis as the batch)."""
    if after is None or before.shape != after.shape or not before.dim() or before.shape[0] != size:
        return False
    return bool(_moved(before, after, size, row))


def _moved(before, after, size: int, row: int) -> list[int]:
    """Other rows whose output moved by more than round-off (batched matrix products may differ in the last bits)."""
    least = 1e-5 * float(before.abs().max().clamp_min(1e-12))
    moved = ((before - after).abs() > least).reshape(size, -1).any(1)
    return sorted(set(torch.nonzero(moved).flatten().tolist()) - {row})
