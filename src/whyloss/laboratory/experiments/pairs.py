"""The (input, target) pairs that the captured steps hold, and experiments that change them."""

import numpy as np
import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import _compare
from whyloss.laboratory.experiments.overfit import batch_size
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan
from whyloss.sources.lossfunctions import LOSSES

ROWS = 1500
SHUFFLES = 200
LOOSE = 0.3         # of the labels that show whether the test can see are drawn at random
RARE = 0.1, 200     # the rarest of two classes: at least so much, or so many
NEIGHBOURS = 5
BETTER = 0.4        # of what the whole training left: a few batches, seen often, are learned somewhat better anyway


def input_key(tape) -> int | None:
    """Constant that the first root module is called with, the largest one first."""
    for node in tape.nodes:
        if node.module is not None:
            keys = [ref for ref in node.inputs if isinstance(ref, int) and tape.constants[ref].dim()]
            if keys:
                return max(keys, key=lambda k: tape.constants[k].numel())
    return None


def target_key(tape) -> int | None:
    """Constant with one row a sample that reaches the loss without passing the model."""
    size, given = batch_size(tape), input_key(tape)
    losses = [n for n in tape.nodes if n.module is None and n.name in LOSSES]
    for node in losses + [n for n in reversed(tape.nodes) if n.module is None]:
        for ref in node.inputs:
            if isinstance(ref, int) and ref != given and tape.constants[ref].dim() and tape.constants[ref].shape[0] == size:
                return ref
    for node in tape.nodes:  # a loss inside forward: the labels are an argument of the model
        if node.module is not None:
            keys = [r for r in node.inputs if isinstance(r, int) and r != given and tape.constants[r].dim() and tape.constants[r].shape[0] == size]
            if keys:
                return keys[-1]
    return None


def _is_target(tape, wanted: int, given: int) -> bool:
    """Only the target of a known loss, or class ids beside the input of the model: contrastive, adversarial and
    self-supervised steps hold batch-sized constants too, and those are no labels."""
    calls = [n for n in tape.nodes if n.module is not None]
    several = len({tuple(r for r in n.inputs if isinstance(r, int)) for n in calls if any(isinstance(r, int) for r in n.inputs)}) > 1
    direct = any(wanted in n.inputs for n in tape.nodes if n.module is None and n.name in LOSSES)
    ids = not tape.constants[wanted].is_floating_point() and tape.constants[wanted].unique().numel() > 1
    return not several and (direct or ids)


def gather(lab) -> tuple[torch.Tensor, torch.Tensor]:
    """(x, y) of all captured steps, each distinct row once. x: (rows, features) float. Raises CannotReplay."""
    xs, ys, seen = [], [], set()
    for tape in lab.program.whole_tapes().values():
        given, wanted = input_key(tape), target_key(tape)
        if wanted is not None and not _is_target(tape, wanted, given):
            continue
        if given is None or wanted is None:
            continue
        x, y = tape.constants[given], tape.constants[wanted]
        if x.shape[0] != y.shape[0] or lab.main is not None and tape.place != lab.main:
            continue
        if y.dim() > 1 and y.shape == x.shape and not x.is_floating_point():
            continue  # a label for each position: the first of them says nothing about the row as a whole
        flat = features(x)
        for row in range(len(flat)):
            key = flat[row].numpy().tobytes()
            if key not in seen and len(xs) < ROWS:
                seen.add(key)
                xs.append(flat[row])
                ys.append(y[row].reshape(-1)[:1])
    if len(xs) < 100:
        raise CannotReplay(f"{len(xs)} distinct (input, target) pairs were captured, 100 are needed")
    return torch.stack(xs), torch.cat(ys)


def features(x: torch.Tensor) -> torch.Tensor:
    """(rows, features) float. Token ids become hashed bags, large images are pooled."""
    if not x.is_floating_point():
        ids = x.reshape(x.shape[0], -1).long() % 512
        return torch.nn.functional.one_hot(ids, 512).sum(1).float()
    flat = torch.nan_to_num(x.detach().float())
    if flat.dim() == 4 and flat.shape[-1] > 16:
        flat = torch.nn.functional.adaptive_avg_pool2d(flat, 12)
    return flat.reshape(flat.shape[0], -1)[:, :4096]


def neighbours(x: torch.Tensor) -> torch.Tensor:
    """Indices of the nearest rows, features standardised. -> (rows, NEIGHBOURS)"""
    spread = x.std(0)
    z = (x - x.mean(0)) / torch.where(spread > 1e-8, spread, torch.ones_like(spread))
    distance = torch.cdist(z, z)
    distance.fill_diagonal_(float("inf"))
    return distance.topk(NEIGHBOURS, largest=False).indices


def agreement(graph: torch.Tensor, y: torch.Tensor, *, continuous: bool) -> float:
    """Share of neighbours with the same label; for numbers, minus the mean squared difference over the variance."""
    if continuous:
        return -float(((y[graph] - y[:, None]) ** 2).mean() / y.var().clamp_min(1e-12))
    return float((y[graph] == y[:, None]).float().mean())


def covariance(x: torch.Tensor, y: torch.Tensor, *, continuous: bool) -> float:
    """Strength of the linear relation: norm of the cross-covariance of standardised inputs and targets."""
    spread = x.std(0)
    z = (x - x.mean(0)) / torch.where(spread > 1e-8, spread, torch.ones_like(spread))
    target = y.float()[:, None] if continuous else torch.nn.functional.one_hot(y.long() - int(y.min())).float()
    return float((z.T @ (target - target.mean(0)) / len(y)).norm())


def strength(x, graph, y, *, continuous: bool) -> tuple[float, float, float]:
    """(largest z over both statistics against permuted labels, agreement as given, agreement of permuted labels)."""
    given = agreement(graph, y, continuous=continuous), covariance(x, y, continuous=continuous)
    null = []
    for _ in range(SHUFFLES):
        mixed = y[torch.randperm(len(y))]
        null.append((agreement(graph, mixed, continuous=continuous), covariance(x, mixed, continuous=continuous)))
    null = np.array(null)
    z = (np.array(given) - null.mean(0)) / np.maximum(null.std(0), 1e-9)
    return float(z.max()), given[0], float(null[:, 0].mean())


@experiment("label-permutation")
def label_permutation(lab, asks):
    """Labels against permuted labels over a fixed neighbour graph. Pseudo-labels drawn from the inputs show that the test can see.

    Records `shown` = True when the labels are as unrelated to the inputs as permuted ones, and the test had power.
    """
    torch.manual_seed(0)
    x, y = gather(lab)
    continuous = y.is_floating_point() and y.unique().numel() > 20
    if y.unique().numel() < 2:
        raise CannotReplay("all captured targets are equal")
    y = y.float().argsort().argsort().float() if continuous else y.long() if not y.is_floating_point() else torch.unique(y, return_inverse=True)[1]
    graph = neighbours(x)
    score, given, null = strength(x, graph, y, continuous=continuous)
    spread = x.std(0)
    line = ((x - x.mean(0)) / torch.where(spread > 1e-8, spread, torch.ones_like(spread))) @ torch.randn(x.shape[1])
    shares = torch.tensor([0.5, 0.5]) if continuous else torch.bincount(y - y.min()) / len(y)
    if len(shares) == 2 and shares.min() < RARE[0] and shares.min() * len(y) < RARE[1]:
        raise CannotReplay(f"one of the two labels is rare ({float(shares.min()):.1%} of {len(y)} pairs): too few to see what it depends on")
    pseudo = torch.bucketize(line, line.quantile(shares.cumsum(0)[:-1].clamp(0, 1)))
    power, _, _ = strength(x, graph, pseudo, continuous=False)
    # labels as rare as the given ones, and as loosely bound to the inputs as clicks, or tomorrow's prices, may be
    loose = torch.where(torch.rand(len(pseudo)) < LOOSE, pseudo[torch.randperm(len(pseudo))], pseudo)
    if strength(x, graph, loose, continuous=False)[0] < 8:
        raise CannotReplay(f"the inputs show too little structure for the test (z = {power:.1f} for labels made from them, and below 8 with "
                           "a part of those at random)")
    shown = score < 4.0 and score < 0.2 * power
    lab.clear("label-permutation")
    for name, value in (("shown", shown), ("z", score), ("z_pseudo", power), ("pairs", len(x))):
        lab.evidence.add(name, value, run="label-permutation")
    return {"experiment": "label-permutation", "change": f"labels permuted at random ({len(x)} pairs): as given z = {score:.1f}, "
            f"labels made from the inputs z = {power:.1f}", "before": given, "after": null, "steps": len(x), "shown": shown, "z": score}


# ---------------------------------------------------------------------- changed data
def _matching(shape) -> callable:
    return lambda tensor: tensor.is_floating_point() and tensor.dim() >= 2 and tensor.shape[1:] == shape


@experiment("normalise-inputs")
def normalise_inputs(lab, asks):
    """Inputs standardised per feature with the statistics of the captured batches."""
    tapes = list(lab.program.whole_tapes().values())
    batches = [t.constants[input_key(t)].float() for t in tapes if input_key(t) is not None]
    if not batches or not batches[0].is_floating_point():
        raise CannotReplay("the input of the model was not captured")
    fits = _matching(batches[0].shape[1:])
    every = torch.cat([b for b in batches if b.shape[1:] == batches[0].shape[1:]])
    mean, spread = every.mean(0), every.std(0)
    spread = torch.where(spread > 1e-6 * spread.max().clamp_min(1e-30), spread, torch.ones_like(spread))
    plan = Plan(change_constant=lambda key, t: ((t - mean) / spread).to(t.dtype) if fits(t) else t)
    return _compare(lab, "normalise-inputs", "inputs standardised per feature", plan)


@experiment("normalise-targets")
def normalise_targets(lab, asks):
    """Targets standardised; both arms are read as the share of the targets' variance that is left. asks: left  that share after the whole
    training, where it learned; a few steps must do much better then."""
    tapes = [t for t in lab.program.whole_tapes().values() if target_key(t) is not None]
    targets = [t.constants[target_key(t)] for t in tapes]
    if not targets or not targets[0].is_floating_point():
        raise CannotReplay("the targets are no numbers, or were not captured")
    every = torch.cat([t.reshape(-1) for t in targets]).float()
    mean, spread = every.mean(), every.std().clamp_min(1e-12)
    shapes = {tuple(t.shape[1:]) for t in targets}
    inputs = {id(t.constants[input_key(t)]) for t in tapes if input_key(t) is not None}
    plan = Plan(change_constant=lambda key, t: ((t - mean) / spread).to(t.dtype)
                if t.is_floating_point() and tuple(t.shape[1:]) in shapes and id(t) not in inputs else t)
    scale = float(spread) ** 2
    control, changed = [v / scale for v in lab.control()], lab.train("normalise-targets", plan)
    if asks.get("left") and not sorted(changed)[len(changed) // 4] < BETTER * asks["left"]:
        raise CannotReplay("standardised targets are learned no better than the whole training learned them")
    return lab.paired("normalise-targets", "targets standardised", control, changed)


@experiment("shuffle-samples")
def shuffle_samples(lab, asks):
    """The captured samples mixed over the batches: the same pairs, another order."""
    tapes = {at: t for at, t in lab.program.whole_tapes().items() if input_key(t) is not None and target_key(t) is not None}
    sizes = {batch_size(t) for t in tapes.values()}
    if len(tapes) < 4 or len(sizes) < 1:
        raise CannotReplay("too few batches were captured to mix them")
    size = max(sizes)
    use = [t for t in tapes.values() if batch_size(t) == size]
    x, y = torch.cat([t.constants[input_key(t)] for t in use]), torch.cat([t.constants[target_key(t)] for t in use])
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    place = {}
    for at, tape in enumerate(use):
        rows = order[at * size:(at + 1) * size]
        place[id(tape.constants[input_key(tape)])], place[id(tape.constants[target_key(tape)])] = x[rows], y[rows]
    plan = Plan(change_constant=lambda key, t: place.get(id(t), t), windows=[at for at, t in tapes.items() if batch_size(t) == size])
    return _compare(lab, "shuffle-samples", "the same samples mixed over the batches", plan,
                    control=lab.train("control", Plan(windows=plan.windows)))


@experiment("drop-bad-rows")
def drop_bad_rows(lab, asks):
    """Rows with a non-finite value, or with a target beyond asks["limit"], replaced by good rows of the same batch."""
    good, limit = {}, asks.get("limit")
    for tape in lab.program.whole_tapes().values():
        size = batch_size(tape)
        fine = torch.ones(size or 0, dtype=torch.bool)
        for t in tape.constants.values():
            if t.is_floating_point() and t.dim() and t.shape[0] == size:
                fine &= torch.isfinite(t.reshape(size, -1)).all(1)
        target = tape.constants.get(target_key(tape)) if limit is not None else None
        if target is not None and target.shape[0] == size:
            fine &= (target.reshape(size, -1).abs() <= limit).all(1)
        rows = torch.nonzero(fine).flatten()
        if len(rows) and len(rows) < len(fine):
            picks = rows[torch.arange(len(fine)) % len(rows)]
            good.update({id(t): picks for t in tape.constants.values() if t.dim() and t.shape[0] == size})
    if not good:
        raise CannotReplay("no captured batch has bad rows beside good ones")
    plan = Plan(change_constant=lambda key, t: t[good[id(t)]] if id(t) in good else t)
    return _compare(lab, "drop-bad-rows", "the bad rows left out" if limit is not None else "rows with non-finite values left out", plan)
