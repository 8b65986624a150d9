"""Labels of padded positions that are scored: a tagger's, or of any model with a target for each position of its input.

Padding is what the program itself knows as such: the padding_idx of an embedding, the places of a mask, the lengths of the rows.
The labels there are one value, put in to fill up, and not the one that the loss ignores. Whether the loss counts them is read off the
gradient of each position's prediction; whether that does harm is tried: two copies, one without those gradients, judged on real positions.
"""

from dataclasses import dataclass

import torch

from whyloss.laboratory.sandbox import Plan
from whyloss.sources.lossfunctions import CLASS_LOSSES, read_call
from whyloss.sources.sequences import sequences
from whyloss.sources.tape import Node

SCORED = 0.2    # of the scored positions are padding, at least
BETTER = 0.75   # of the control's loss on real positions, at most
BATCHES = 24    # judged by
_EACH = CLASS_LOSSES | {"binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}


@dataclass
class Padded:
    """The loss call of one captured step and which of its targets stand at padding (in the target's shape)."""

    node: Node
    target: torch.Tensor
    at: torch.Tensor
    what: str


def padded(lab, tape) -> Padded | None:
    """The padded targets of a step with one loss, whether they are scored or not."""
    calls = [n for n in tape.nodes if n.module is None and n.name in _EACH]
    if len(calls) != 1:
        return None
    node = calls[0]
    stored = node.args[1] if len(node.args) > 1 else node.kwargs.get("target")
    key = getattr(stored, "ref", None)
    target = tape.constants[key] if isinstance(key, int) else None
    if target is None or not node.args or target.numel() < 8:
        return None
    for given, one, order in sequences(tape):
        found = None if given == key else _padding(lab, tape, given, one)
        if found is None:
            continue
        mask, what = found
        mask = mask.permute(*order[:2]) if order[:2] in ((0, 1), (1, 0)) else mask
        for form in (mask, mask.t()):
            fitted = _fitted(form, target)
            if fitted is not None and _filled(target, fitted, node, tape.constants[given]):
                return Padded(node, target, fitted, what)
    return None


def _padding(lab, tape, key: int, x: torch.Tensor) -> tuple[torch.Tensor, str] | None:
    """(padded places as (rows, positions), how they are known); rows of several lengths, padded behind or in front."""
    if x.is_floating_point():
        options = [((x == 0).all(-1), None)]
    else:
        indexes = {part.padding_idx for m in lab.program.modules.values() for part in m.modules()
                   if getattr(part, "padding_idx", None) is not None and getattr(part, "num_embeddings", 0) > int(x.max())}
        options = [(x == index, f"padding_idx {index} of an embedding") for index in sorted(indexes)]
        options += [(x == last, None) for last in {int(x[:, -1].mode().values), int(x[:, 0].mode().values)} - indexes]
    for places, known in options:
        behind = places.flip(1).cumprod(1).flip(1).bool()
        front = places.cumprod(1).bool()
        run = behind if bool(behind.any()) else front
        if not bool(run.any()) or not torch.equal(run, places) or len(run.sum(1).unique()) < 2 or bool(run.all(1).any()):
            continue
        known = known or _named(tape, key, run)
        if known is not None:
            return run, known
    return None


def _named(tape, key: int, run: torch.Tensor) -> str | None:
    """A mask over exactly these places, or the lengths of the rows, among the tensors of the step."""
    lengths = run.shape[1] - run.sum(1)
    for other, value in tape.constants.items():
        if other == key:
            continue
        if value.shape == lengths.shape and torch.equal(value.to(lengths.dtype), lengths) and bool((value == lengths).all()):
            return "the lengths of the rows"
        for form in (run, run.t()):
            if value.shape == form.shape and len(kinds := value.unique()) == 2 and any(torch.equal(value == kind, form) for kind in kinds):
                return "a mask of the same places"
    return None


def _fitted(mask: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
    """The mask in the target's shape."""
    if target.numel() == mask.numel() and (target.dim() == 1 or tuple(n for n in target.shape if n > 1) == tuple(n for n in mask.shape if n > 1)):
        return mask.reshape(target.shape)
    if target.dim() == 3 and target.shape[:2] == mask.shape:
        return mask.unsqueeze(-1).expand(target.shape)
    return None


def _filled(target, at, node, given) -> bool:
    """The targets at padding are all of one value, which the loss does not ignore, others are of several; not the input itself."""
    call = read_call(node.name, (target, target), {k: v for k, v in node.kwargs.items() if k == "ignore_index"})
    padding, real = target[at].unique(), target[~at]
    ignored = -100 if call.ignore_index is None else call.ignore_index
    if len(padding) != 1 or len(real.unique()) < 2 or node.name in CLASS_LOSSES and int(padding) == ignored:
        return False
    return target.numel() != given.numel() or not torch.equal(target.reshape(-1).to(given.dtype), given.reshape(-1))


# ---------------------------------------------------------------------- what the loss makes of them
def _lifted(value: torch.Tensor, prediction: torch.Tensor, node) -> torch.Tensor:
    """Something in the target's shape, to be multiplied with the prediction."""
    return value.unsqueeze(1) if node.name in CLASS_LOSSES else value.reshape(prediction.shape)


def share_scored(arm, tape, found: Padded) -> float:
    """Share of the targets with a gradient that stand at padding."""
    kept = []

    def listen(node, args, kwargs):
        if node is found.node and args[0].requires_grad:
            args[0].retain_grad()
            kept.append(args[0])
        return args, kwargs

    loss = tape.replay(arm.bindings, swap=listen)
    if not kept or not loss.requires_grad:
        return 0.0
    loss.sum().backward()
    size = kept[0].grad.abs()
    size = size.sum(1) if found.node.name in CLASS_LOSSES else size.reshape(found.target.shape)
    scored = size > 1e-6 * size.max()
    return float((scored & found.at).sum()) / max(1, int(scored.sum()))


def _without(table: dict):
    """A swap that takes the gradient of padded positions off, as if the loss were the mean over the real ones."""
    def swap(node, args, kwargs):
        found = table.get(id(node))
        if found is None:
            return args, kwargs
        real = (~found.at).to(args[0].dtype)
        if read_call(node.name, args, kwargs).reduction == "mean":
            real = real * real.numel() / real.sum()
        held = args[0].detach()
        return (held + (args[0] - held) * _lifted(real, held, node), *args[1:]), kwargs
    return swap


def on_real_positions(arm, chosen) -> float:
    """Mean loss over the real positions of some steps, in eval mode."""
    values, arm.bindings.force_training = [], False
    for tape, found in chosen:
        def judge(node, args, kwargs, found=found):
            if node is found.node:
                prediction = args[0].movedim(1, -1) if node.name in CLASS_LOSSES else args[0].reshape(found.target.shape)
                values.append(float(getattr(torch.nn.functional, node.name.removesuffix("_nd"))(prediction[~found.at], found.target[~found.at])))
            return args, kwargs

        with torch.no_grad():
            tape.replay(arm.bindings, swap=judge)
    return sum(values) / max(1, len(values))


def labels_scored(lab) -> dict | None:
    """{"share", "before", "after", "shown", "what", "place"} where padded targets are scored; None where there are none, or they are not."""
    pairs = [(tape, found) for tape in lab.program.whole_tapes().values() if (found := padded(lab, tape)) is not None]
    if not pairs:
        return None
    share = share_scored(lab.program.fresh(), *pairs[0])
    if share < SCORED:
        return None
    arms = lab.program.fresh(), lab.program.fresh()
    start = on_real_positions(lab.program.fresh(), pairs[:BATCHES])
    lab.train("control", Plan(), arm=arms[0])
    lab.train("padding-scored", Plan(swap=_without({id(found.node): found for _, found in pairs})), arm=arms[1])
    before, after = (on_real_positions(arm, pairs[:BATCHES]) for arm in arms)
    return {"share": share, "before": before, "after": after, "shown": after < BETTER * before and before - after > 0.02 * start,
            "what": pairs[0][1].what, "place": pairs[0][1].node.place}
