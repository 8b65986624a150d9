"""The captured samples drawn so that the classes count equally much: is the rare class found then?"""

import math

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.bench import Bench
from whyloss.laboratory.experiments.overfit import _range, first_tape
from whyloss.laboratory.experiments.pairs import target_key
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan, Rehearsal

TIMES = 4.0   # as much in the loss as a sample of a class that is rarer: no weighting for rare classes does that (focal losses reach 3)

STEPS = 8     # looked at for that


def recalls(right: torch.Tensor, labels: torch.Tensor) -> dict[int, float]:
    """Share of right answers for each label value."""
    return {int(v): float(right[labels == v].float().mean()) for v in labels.unique()}


def pulls(lab, tape) -> torch.Tensor | None:
    """How strongly the loss pulls at the output of each sample of a step while all outputs are equal: class weights show in it, however they
    are written. None where it cannot be told."""
    slots = [s for n in tape.nodes if n.module is not None and _learns(lab, n) for s in n.outputs]
    bindings = lab.program.fresh().bindings
    try:
        with torch.no_grad():
            made = tape.run(bindings)[slots[-1]]
        classes = made.shape[1] if made.dim() > 1 else 1
        even = {"free": 0.0, "unit": 0.5, "simplex": 1 / classes, "log-simplex": -math.log(classes)}[_range(made)]
        output = torch.full_like(made, even).requires_grad_()
        gradient, = torch.autograd.grad(tape.run(bindings, given={slots[-1]: output})[tape.loss.index].sum(), output, allow_unused=True)
    except (RuntimeError, KeyError, IndexError):  # no such place, a shape that the loss does not take, a custom operation
        return None
    if gradient is None or not bool(torch.isfinite(gradient).all()):
        return None
    return gradient.reshape(len(gradient), -1).norm(dim=1)


@experiment("balanced-samples")
def balanced_samples(lab, asks):
    """Half of the captured rows train, drawn as they came and drawn by class; the other half judges the recalls.

    Where the loss itself counts a sample of the most frequent class for more than one of the rarest, nothing needs to be drawn.
    """
    turned = _wrong_way(lab)
    if turned is not None:
        return turned
    bench = Bench(lab)
    if bench.train.labels.is_floating_point() and float((bench.train.labels - bench.train.labels.round()).abs().max()) > 0:
        raise CannotReplay("the targets are no classes")
    order = torch.arange(len(bench.train), device=bench.train.labels.device)
    pool, judge = bench.train.rows(order % 2 == 0), bench.train.rows(order % 2 == 1)
    flat = pool.labels.reshape(len(pool)).long()
    groups = [torch.nonzero(flat == v).flatten() for v in flat.unique()]
    if len(groups) < 2 or min(map(len, groups)) < 3:
        raise CannotReplay("too few rows of the rare class were captured")
    at = next(k for k, t in lab.program.whole_tapes().items() if t is bench.tape)
    generator, shares, losses = torch.Generator().manual_seed(0), {}, {}
    for name in ("control", "changed"):
        def drawn(_name=name):
            if _name == "control":
                return torch.randint(len(pool), (bench.size,), generator=generator)
            which = torch.randint(len(groups), (bench.size,), generator=generator)
            return torch.stack([groups[int(g)][int(torch.randint(len(groups[int(g)]), (1,), generator=generator))].cpu() for g in which])
        batch: dict = {}

        def change(key, tensor, _batch=batch):
            return _batch.get(key, tensor)
        rehearsal = Rehearsal(lab.program, Plan(loop="canonical", windows=[at], change_constant=change), lab.main)
        deadline = lab.deadline()
        for step in range(240):
            part = pool.rows(drawn().to(pool.labels.device))
            batch.update({**dict(zip(bench.keys, part.inputs)), bench.target: part.labels})
            rehearsal.train(step + 1, deadline)
        losses[name] = rehearsal.losses
        _, right, _ = bench.outcome(rehearsal.arm, judge)
        if right is None:
            raise CannotReplay("the outputs are no class scores")
        shares[name] = recalls(right, judge.labels.reshape(len(judge)).long())
    rare = min(shares["control"], key=lambda v: int((judge.labels == v).sum()))
    before, after = shares["control"], shares["changed"]
    balanced = [sum(s.values()) / len(s) for s in (before, after)]
    shown = before[rare] < 0.1 and after[rare] > 0.5 and balanced[1] > balanced[0] + 0.12 and balanced[1] > 1 / len(after) + 0.12
    lab.clear("balanced-samples")
    for quantity, value in (("shown", shown), ("recall_before", before[rare]), ("recall_after", after[rare])):
        lab.evidence.add(quantity, value, run="balanced-samples")
    return {"experiment": "balanced-samples", "before": before[rare], "after": after[rare], "steps": 240, "shown": shown,
            "change": f"recall of class {rare} on rows not drawn: as the samples came, then with classes drawn equally often "
                      f"(mean recall of all classes {balanced[0]:.2f}, then {balanced[1]:.2f})"}


def _learns(lab, node) -> bool:
    """Whether a call is one of a part of the model: not of a loss that keeps its class weights."""
    return next(lab.program.modules[node.module].parameters(), None) is not None


def _wrong_way(lab) -> dict | None:
    """What the check saw, and weights that make it worse: the most frequent class counts for more in the loss than the rarest."""
    place = first_tape(lab)[1].place
    tapes = [(t, t.constants[k]) for t in lab.program.whole_tapes().values() if t.place == place and (k := target_key(t)) is not None]
    if not tapes or any(y.dim() > 2 or y.numel() != len(y) for _, y in tapes):
        return None
    values, counts = torch.cat([y.reshape(-1) for _, y in tapes]).unique(return_counts=True)
    if not 2 <= len(values) <= 64 or not bool((values == values.round()).all()):
        return None
    common, scarce, found = values[counts.argmax()], values[counts.argmin()], []
    for tape, labels in tapes:
        labels = labels.reshape(-1)
        if bool((labels == scarce).any() and (labels == common).any()) and len(found) < STEPS:
            pull = pulls(lab, tape)
            if pull is None or len(pull) != len(labels) or not float(pull[labels == scarce].mean()):
                return None
            found.append(float(pull[labels == common].mean() / pull[labels == scarce].mean()))
    times = sorted(found)[len(found) // 2] if found else 0.0
    if times <= TIMES:
        return None
    lab.clear("balanced-samples")
    lab.evidence.add("shown", True, run="balanced-samples")
    return {"experiment": "balanced-samples", "before": times, "after": 1.0, "steps": 0, "shown": True,
            "said": f"the loss counts a sample of class {int(common)}, the most frequent one, {times:.3g} times as much as one of "
                    f"class {int(scarce)}, the rarest, which is never predicted",
            "change": f"weight of class {int(common)} beside class {int(scarce)} in the loss, and with equal weights"}
