"""The captured samples drawn so that the classes are equally frequent: is the rare class found then?"""

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.bench import Bench
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan, Rehearsal


def recalls(right: torch.Tensor, labels: torch.Tensor) -> dict[int, float]:
    """Share of right answers for each label value."""
    return {int(v): float(right[labels == v].float().mean()) for v in labels.unique()}


@experiment("balanced-samples")
def balanced_samples(lab, asks):
    """Half of the captured rows train, drawn as they came and drawn by class; the other half (or evaluation rows) judges the recalls."""
    bench = Bench(lab)
    if bench.train.labels.is_floating_point() and float((bench.train.labels - bench.train.labels.round()).abs().max()) > 0:
        raise CannotReplay("the targets are no classes")
    order = torch.arange(len(bench.train), device=bench.train.labels.device)
    pool, judge = bench.train.rows(order % 2 == 0), bench.train.rows(order % 2 == 1)
    flat = pool.labels.reshape(len(pool)).long()
    groups = [torch.nonzero(flat == v).flatten() for v in flat.unique()]
    if len(groups) < 2 or min(map(len, groups)) < 3:
        raise CannotReplay("too few rows of the rare class were captured")
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
        at = next(k for k, t in lab.program.whole_tapes().items() if t is bench.tape)
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
