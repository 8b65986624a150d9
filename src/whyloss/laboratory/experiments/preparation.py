"""Evaluation inputs prepared like the training inputs: does the trained model then answer them?"""

import itertools

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.bench import Bench, Pairs
from whyloss.laboratory.lab import experiment

FAR_LESS = 0.5
LESS = 0.8       # of the loss before: what a repaired preparation must reach
APART = 0.05     # training rows answered better than evaluation rows, both in eval mode: else the model is at fault, not the preparation
FACTORS = (255.0, 1 / 255.0)


def main_input(pairs: Pairs) -> int:
    """The largest input of numbers."""
    sizes = [(x[0].numel() if x.is_floating_point() and x.dim() >= 2 else 0) for x in pairs.inputs]
    if max(sizes) == 0:
        raise CannotReplay("no input of the model holds numbers")
    return sizes.index(max(sizes))


def moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(mean, spread) per channel of images and sequences (rows, channels, ...), per feature of tables."""
    dims = [0, *range(2, x.dim())]
    mean = x.float().mean(dims, keepdim=True)
    return mean, x.float().std(dims, keepdim=True).clamp_min(1e-12)


def preparations(train: torch.Tensor, held: torch.Tensor):
    """(name, function) of every preparation that could be missing or different in the evaluation."""
    (mean, spread), (other, width) = moments(train), moments(held)
    varies = spread > 1e-3 * spread.max()
    width = torch.where(width > 1e-3 * width.max(), width, spread)

    yield "mean and spread of each channel as in training", lambda x: torch.where(varies, (x - other) / width * spread + mean, x)
    whole, theirs = train.float(), held.float()
    scale = float(whole.std() / theirs.std().clamp_min(1e-12))
    yield "one mean and spread as in training", lambda x: (x - float(theirs.mean())) * scale + float(whole.mean())
    yield "scale as in training", lambda x: x * scale
    for factor in FACTORS:
        yield f"times {factor:.4g}", lambda x, f=factor: x * f
    if train.dim() == 4:
        for axis, channels in ((1, train.shape[1]), (3, train.shape[3])):
            if channels in (2, 3, 4):
                for order in itertools.permutations(range(channels)):
                    if order != tuple(range(channels)) and (channels < 4 or order[3] == 3):
                        pick = torch.tensor(order, device=train.device)
                        yield f"channels in the order {', '.join(map(str, order))}", lambda x, a=axis, p=pick: x.index_select(a, p)
        if train.shape[2] == train.shape[3]:
            yield "height and width exchanged", lambda x: x.transpose(2, 3)
        yield "turned upside down", lambda x: x.flip(2)
        yield "turned left to right", lambda x: x.flip(3)
    if train.dim() == 3:
        yield "time reversed", lambda x: x.flip(1)


def _applied(pairs: Pairs, at: int, function) -> Pairs:
    return Pairs([function(x).to(x.dtype) if i == at else x for i, x in enumerate(pairs.inputs)], pairs.labels)


@experiment("align-preparation")
def align_preparation(lab, asks):
    """The best preparation is chosen on one half of the evaluation rows and judged on the other."""
    bench = Bench(lab)
    if bench.held is None or len(bench.held) < 30:
        raise CannotReplay("no labelled rows of an evaluation were captured")
    at = main_input(bench.train)
    arm = bench.trained()
    first, second = bench.held.halves()
    known, right_known, _ = bench.outcome(arm, bench.train)
    options = []
    for name, function in preparations(bench.train.inputs[at], bench.held.inputs[at]):
        loss, right, _ = bench.outcome(arm, _applied(first, at, function))
        options.append((-float(right.float().mean()) if right is not None else loss, loss, name, function))
    _, _, name, function = min(options, key=lambda o: o[:2])
    before, right_before, _ = bench.outcome(arm, second)
    after, right_after, _ = bench.outcome(arm, _applied(second, at, function))
    if right_before is not None:
        won, lost = int((right_after & ~right_before).sum()), int((right_before & ~right_after).sum())
        share_before, share_after = float(right_before.float().mean()), float(right_after.float().mean())
        gap = float(right_known.float().mean()) - share_before
        shown = won - lost > 4 * max(won + lost, 1) ** 0.5 and share_after - share_before > max(0.03, 0.3 * gap)
        # few rows need the loss as a second witness: it must lose most of its excess over training (unsure answers alone lower it too)
        shown |= share_after - share_before > max(0.03, 0.3 * gap) and after < FAR_LESS * before and before - after > 0.6 * (before - known)
        shown &= gap > APART
    else:
        shown = after < LESS * before and before - after > 0.4 * max(before - known, 0.0) and known < LESS * before
        share_before, share_after = before, after
    lab.clear("align-preparation")
    for quantity, value in (("shown", shown), ("preparation", name), ("before", share_before), ("after", share_after)):
        lab.evidence.add(quantity, value, run="align-preparation")
    what = "share right" if right_before is not None else "loss"
    return {"experiment": "align-preparation", "before": share_before, "after": share_after, "steps": len(second), "shown": shown,
            "said": f"with the evaluation inputs changed ({name}) the {what} of {len(second)} evaluation rows goes from {share_before:.3g} "
                    f"to {share_after:.3g}",
            "change": f"{what} on evaluation rows, trained weights, inputs changed: {name}"}
