"""Labels against the trained model and against neighbours: are the training labels worse than those of the evaluation?"""

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.bench import Bench, Pairs, z_of_shares
from whyloss.laboratory.experiments.pairs import features
from whyloss.laboratory.lab import experiment
from whyloss.sources.lossfunctions import LOSSES

NEIGHBOURS = 11
GAP, SURE = 0.08, 5.0   # share of rows, and standard errors


def flat(pairs: Pairs) -> torch.Tensor:
    """(rows, features): every input of a pair side by side."""
    return torch.cat([features(x) for x in pairs.inputs], 1)


def votes(train: torch.Tensor, labels: torch.Tensor, others: torch.Tensor, *, itself: bool) -> torch.Tensor:
    """The label that most of the nearest training rows have. -> (rows of others,)"""
    spread, mean = train.std(0), train.mean(0)
    scale = torch.where(spread > 1e-8, spread, torch.ones_like(spread))
    distance = torch.cdist((others - mean) / scale, (train - mean) / scale)
    if itself:
        distance.fill_diagonal_(float("inf"))
    return labels[distance.topk(min(NEIGHBOURS, len(train) - 1), largest=False).indices].mode(1).values


@experiment("label-agreement")
def label_agreement(lab, asks):
    """With the trained weights in eval mode: rows right in training against rows right in evaluation, and the same for a vote of neighbours.

    Records `shown` when training rows are wrong clearly more often by both, which no hard sample, dropout or noise of the task explains.
    """
    bench = Bench(lab)
    if bench.held is None or len(bench.held) < 60:
        raise CannotReplay("no labelled rows of an evaluation were captured")
    facts = [s.last.value for s in lab.evidence.by_subject("evaluation_inputs").values()]
    if facts and not max(f.get("repeated_training", 1) for f in facts):
        raise CannotReplay("no training row was seen twice: random augmentation may make them harder than those of the evaluation")
    if sum(1 for n in bench.tape.nodes if n.module is None and n.name in LOSSES) > 1:
        raise CannotReplay("the loss has several terms: the rows' labels in training need not be those that the evaluation counts")
    arm = bench.trained()
    _, seen, _ = bench.outcome(arm, bench.train)
    _, new, _ = bench.outcome(arm, bench.held)
    if seen is None or new is None:
        raise CannotReplay("the outputs are no class scores")
    z, gap = z_of_shares(new, seen), float(new.float().mean() - seen.float().mean())
    x, labels = flat(bench.train), bench.train.labels.reshape(len(bench.train)).long()
    chosen = votes(x, labels, x, itself=True)
    own = chosen == labels
    other = votes(x, labels, flat(bench.held), itself=False) == bench.held.labels.reshape(len(bench.held)).long()
    frequent = float(labels.bincount().max()) / len(labels)
    blind = float(other.float().mean()) < frequent + 0.1      # neighbours know nothing here: the model alone decides
    nearby = float(other.float().mean() - own.float().mean())
    shown = gap > GAP and z > SURE and (blind or nearby > 0.5 * GAP and z_of_shares(other, own) > 3)
    bad = torch.nonzero(~seen.cpu() & ~own.cpu()).flatten().tolist()
    rows = [bench.steps[i] for i in bad[:6]]
    lab.clear("label-agreement")
    for name, value in (("shown", shown), ("gap", gap), ("z", z), ("neighbour_gap", nearby), ("wrong", len(bad)), ("rows", len(seen))):
        lab.evidence.add(name, value, run="label-agreement")
    listed = ", ".join(f"step {step} row {row}" for step, row in rows)
    return {"experiment": "label-agreement", "before": float(seen.float().mean()), "after": float(new.float().mean()), "steps": len(seen),
            "shown": shown,
            "change": f"share right with the trained weights in eval mode: {len(seen)} training rows, then {len(new)} evaluation rows (z = {z:.1f}; "
                      f"by neighbours {float(own.float().mean()):.2f} and {float(other.float().mean()):.2f}); "
                      f"{len(bad)} training rows contradict both"
                      + (f": {listed}" if rows else ""), "bad_rows": rows}
