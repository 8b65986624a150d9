"""Rows of an evaluation that are copies of training rows but for a little noise. Pure, on samples of both; no random numbers are drawn."""

import math

import torch

COPIES = 32      # of one row at most: more in one place are a dense region, no copies
JUMP = 5.0       # the next row is so many times as far away as the farthest copy
COLUMNS = 512    # looked at
PAIRS = 1000     # of copies, for the size of the noise
LEVELS = 5       # different values that a column takes at the grain of the noise, or it is a grid and no measurement
ENOUGH = 200, 50  # rows of training and of evaluation


def near_copies(train: torch.Tensor, held: torch.Tensor) -> dict | None:
    """What is known of copies with noise. train: (rows, features), held: (rows, features); None where the samples are too small.

    near       rows of the evaluation with training rows next to them and then none for a long way
    within     those of them that have such a neighbour in the evaluation too
    clusters   different originals among them        copies  of one of them, the middle number of training rows
    dimension  of the originals, by the distances to the nearest and the second nearest (Facco et al. 2017)
    columns    share of the columns in which the originals take more than a few values
    """
    varies = train.std(0) > 1e-8
    if len(train) < ENOUGH[0] or len(held) < ENOUGH[1] or int(varies.sum()) < 4:
        return None
    train, held = train[:, varies].float(), held[:, varies].float()
    if train.shape[1] > COLUMNS:
        picks = torch.arange(COLUMNS) * train.shape[1] // COLUMNS
        train, held = train[:, picks], held[:, picks]
    mean, spread = train.mean(0), train.std(0)
    train, held = (train - mean) / spread, (held - mean) / spread
    if not bool(torch.isfinite(held).all() and torch.isfinite(train).all()):
        return None
    reach = _distances(held, train).topk(COPIES + 1, largest=False).values           # (rows, COPIES + 1), nearest first
    jump, at = (reach[:, 1:] / reach[:, :-1].clamp_min(1e-6)).max(1)
    near = (jump >= JUMP) & (reach[:, 0] > 1e-5)
    found = {"rows": len(held), "near": int(near.sum())}
    if found["near"] < 10:
        return found
    radius = 1.5 * reach.gather(1, at[:, None]).squeeze(1)
    copied, radius = held[near], radius[near]
    beside = _distances(copied, copied) <= radius[:, None]
    originals = _one_of_each(beside)
    centres = torch.cat([copied[originals], held[~near]])
    one, other = torch.nonzero(beside & ~torch.eye(len(copied), dtype=torch.bool, device=held.device))[:PAIRS].T
    noise = (copied[one] - copied[other]).abs()
    grain = noise.median(0).values if len(noise) else torch.zeros(held.shape[1])
    levels = torch.tensor([len((column / g.clamp_min(1e-6) / 4).round().unique()) for column, g in zip(copied[originals].T, grain)])
    return {**found, "within": int((beside.sum(1) > 1).sum()), "clusters": len(originals), "copies": float((at[near] + 1).float().median()),
            "dimension": _dimension(centres), "columns": float((levels > LEVELS).float().mean())}


def _distances(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    return torch.cdist(one, two, compute_mode="donot_use_mm_for_euclid_dist")  # a difference of squares has no digits left for near rows


def _one_of_each(beside: torch.Tensor) -> list[int]:
    """The first row of each group of rows that lie beside each other."""
    left, first = torch.ones(len(beside), dtype=torch.bool), []
    for row in range(len(beside)):
        if left[row]:
            first.append(row)
            left &= ~(beside[row] | beside[:, row])
            left[row] = False
    return first


def _dimension(rows: torch.Tensor) -> float:
    if len(rows) < 20:
        return 0.0
    near = _distances(rows, rows).topk(3, largest=False).values[:, 1:]
    ratio = float((near[:, 1] / near[:, 0].clamp_min(1e-9)).median())
    return math.log(2) / max(math.log(ratio), 1e-3)
