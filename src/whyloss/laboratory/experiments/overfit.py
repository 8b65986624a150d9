"""The tiny batch and the floor: can the captured step memorise, and what could any network reach with this loss?"""

import math
from dataclasses import replace

import numpy as np
import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory import interventions
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan, Rehearsal
from whyloss.sources.clock import worked
from whyloss.sources.lossfunctions import CLASS_LOSSES, read_call
from whyloss.sources.tape import Bindings, Slot

TINY = 10
LADDER = (3e-3, 1e-2, 1e-3, 3e-4, 3e-2)
SEQUENCE = 8   # calls of modules in a step, beyond which a network is taken to be called for each element of a sequence
FLOOR_SECONDS, FEWEST = 4.0, 100   # what looking for a floor may take, and the updates without which there is none
PASSED = 0.05  # of the way between the best constant and the floor


def batch_size(tape) -> int | None:
    """Samples in the step: the first axis of the first tensor a root module was called with."""
    for node in tape.nodes:
        if node.module is not None:
            for ref in sorted((r for r in node.inputs if isinstance(r, int)), key=lambda r: -tape.constants[r].dim()):
                if tape.constants[ref].dim():
                    return tape.constants[ref].shape[0]
    sizes = [t.shape[0] for t in tape.constants.values() if t.dim() >= 1]
    return max(set(sizes), key=sizes.count) if sizes else None


def tiny_rows(tape, count: int = TINY) -> torch.Tensor | None:
    """Rows of a small, mixed batch: as many label values as there are (a one-class batch proves nothing)."""
    size = batch_size(tape)
    if size is None or size <= count:
        return None
    labels = next((t for t in tape.constants.values() if t.dim() == 1 and t.shape[0] == size and not t.is_floating_point()), None)
    if labels is None:
        return torch.arange(count)
    picks: list[int] = []
    groups = [torch.nonzero(labels == value).flatten().tolist() for value in labels.unique()]
    while len(picks) < count and any(groups):
        for group in groups:
            if group and len(picks) < count:
                picks.append(group.pop(0))
    return torch.tensor(sorted(picks))


def restricted(tape, rows):
    """change_constant that keeps only `rows` of every batch-sized constant."""
    size = batch_size(tape)
    if rows is None:
        return None
    return lambda key, tensor: tensor[rows] if tensor.dim() and tensor.shape[0] == size else tensor


class Accuracy:
    """Reads the task metric off the loss call while a tape is replayed."""

    def __init__(self):
        self.last: float | None = None

    def __call__(self, node, args, kwargs):
        call = read_call(node.name, args, kwargs) if node.module is None else None
        if call is not None and call.target is not None:
            target, prediction = call.target, call.prediction.detach()
            if call.name in CLASS_LOSSES and not target.is_floating_point() and prediction.dim() >= 2:
                guess = prediction.argmax(1)
                if guess.shape == target.shape:
                    self.last = float((guess == target).float().mean())
        return args, kwargs


def free_outputs(tape, bindings: Bindings, *, constant: bool = False, steps: int = 300) -> float | None:
    """Loss that free outputs (or, constant: one row for all samples) reach in place of the network. None if it has no such place.

    Adam .3, then .05. The result is the floor of the loss on these targets, whatever the network. A network that is called once
    for each element of a sequence has free outputs in each call; a step so long that too few updates can be made has no floor.
    """
    calls = [n for n in tape.nodes if n.module is not None]
    if not calls or tape.loss.index in calls[-1].outputs:
        return None
    with torch.no_grad():
        made = tape.run(bindings)
    of = [n for n in calls if n.module == calls[-1].module] if len(calls) > SEQUENCE else calls[-1:]
    slots = [s for n in of for s in n.outputs if made[s].is_floating_point() and made[s].dim() >= 1]
    if not slots or any(tape.loss.index in n.outputs for n in of):
        return None
    tape, began, done = _behind(tape, made, slots, bindings), worked(), 0
    size = made[slots[0]].shape[0]
    shapes, ranges = {s: made[s] for s in slots}, {s: _range(made[s]) for s in slots}
    free = {s: _start(t, ranges[s], constant and t.shape[0] == size).requires_grad_() for s, t in shapes.items()}
    best = math.inf
    for rate, count in ((0.3, steps * 2 // 3), (0.05, steps // 3)):
        optimizer = torch.optim.Adam(list(free.values()), lr=rate)
        for _ in range(count):
            if worked() - began > FLOOR_SECONDS:
                return best if done >= FEWEST else None
            done += 1
            given = {s: _INTO[ranges[s]](z).expand_as(shapes[s]).to(shapes[s].dtype) for s, z in free.items()}
            loss = tape.run(bindings, given=given)[tape.loss.index]
            if not loss.requires_grad or not bool(torch.isfinite(loss.detach()).all()):
                return best if math.isfinite(best) else None
            best = min(best, float(loss.detach().sum()) / tape.scale)
            optimizer.zero_grad()
            loss.sum().backward()
            optimizer.step()
    return best


def _behind(tape, made: dict, slots: list[int], bindings: Bindings):
    """The tape without the calls of modules that the loss does not need once these slots are given."""
    if len(slots) < 2:
        return tape
    wanted, kept, given = {tape.loss.index}, [], set(slots)
    for node in reversed(tape.nodes):
        if node.module is not None and not wanted & set(node.outputs):
            continue
        kept.append(node)
        if not given.issuperset(node.outputs) or not node.outputs:
            wanted.update(ref.index for ref in node.inputs if isinstance(ref, Slot))
    shorter = replace(tape, nodes=kept[::-1])
    try:  # what is written in place may be needed unseen
        with torch.no_grad():
            loss = shorter.run(bindings, given={s: made[s] for s in slots})[tape.loss.index]
        return shorter if torch.allclose(loss, made[tape.loss.index], rtol=1e-3) else tape
    except KeyError:
        return tape


_INTO = {"free": lambda z: z, "unit": torch.sigmoid, "simplex": lambda z: torch.softmax(z, 1), "log-simplex": lambda z: torch.log_softmax(z, 1)}


def _range(output: torch.Tensor) -> str:
    """What the model's outputs are bound to by construction: free outputs must stay inside it, or losses lose their floor."""
    values = output.detach().float()
    if values.dim() >= 2 and values.shape[1] > 1:
        if float((values.clamp(max=1).exp().sum(1) - 1).abs().max()) < 1e-3 and float(values.max()) <= 1e-6:
            return "log-simplex"
        if float(values.min()) >= 0 and float((values.sum(1) - 1).abs().max()) < 1e-3:
            return "simplex"
    return "unit" if float(values.min()) >= 0 and float(values.max()) <= 1 else "free"


def _start(output: torch.Tensor, kind: str, constant: bool) -> torch.Tensor:
    values = output.mean(0, keepdim=True) if constant else output
    values = values.detach().clone().float()
    if kind == "unit":
        return torch.logit(values.clamp(1e-4, 1 - 1e-4))
    return values.clamp_min(1e-8).log() if kind == "simplex" else values


def first_tape(lab):
    tapes = lab.program.whole_tapes()
    for at, tape in tapes.items():
        if lab.main is None or tape.place == lab.main:
            return at, tape
    return next(iter(tapes.items()))


@experiment("floor")
def floor(lab, asks):
    at, tape = first_tape(lab)
    arm = lab.program.fresh()
    arm.bindings.force_training = None
    low, constant = free_outputs(tape, arm.bindings), free_outputs(tape, arm.bindings, constant=True)
    if low is None:
        raise CannotReplay("the floor of the loss is not known: it is computed inside the model, or the step is too long")
    lab.clear("floor")
    lab.evidence.add("floor", low, run="floor")
    lab.evidence.add("constant", constant if constant is not None else math.nan, run="floor")
    return {"experiment": "floor", "change": "free outputs in place of the network", "before": constant, "after": low, "steps": 300}


@experiment("overfit")
def overfit(lab, asks):
    """Arm A: the user's own step on ten examples. Arm B: fresh Adam ladder, dropout and weight decay off."""
    at, tape = first_tape(lab)
    iteration = next(g for g in Rehearsal(lab.program, Plan(loop="canonical"), lab.main).iterations if at in g[1])
    windows = list(iteration[1])
    rows = tiny_rows(tape, asks.get("examples", TINY))
    change = _usable(lab, tape, restricted(tape, rows))
    if change is None:
        rows = None
    metric = Accuracy()
    around = _no_dropout
    own = Rehearsal(lab.program, Plan(swap=metric, windows=windows, change_constant=change, loop="canonical"), lab.main)
    progress = lab.evidence.fact("learned") or {}
    brief = bool(progress.get("learned")) and "steps" not in asks  # a training that was seen to learn needs no long proof
    arm_a = own.train(asks.get("steps", 240), lab.deadline(1.0 if brief else 2.5))
    accuracy_a = metric.last
    arm = lab.program.fresh()
    arm.bindings.change_constant = change
    low, constant = free_outputs(tape, arm.bindings), free_outputs(tape, arm.bindings, constant=True, steps=150)
    best, accuracy_b, rate_b = [], None, None
    for rate in LADDER[:2] if brief else LADDER:
        metric = Accuracy()
        rehearsal = Rehearsal(lab.program, Plan(
            loop="canonical", windows=windows, change_constant=change, swap=metric, prepare=interventions.quiet_dropout, around=around,
            make_optimizer=lambda a, p, r=rate: torch.optim.Adam(list(p), lr=r)), lab.main)
        losses = _train_until(rehearsal, lab, low, constant, metric, seconds=1.0 if brief else 1.6)
        if not best or min(losses[-20:]) < min(best[-20:]):
            best, accuracy_b, rate_b = losses, metric.last, rate
        if memorised(best, low, constant, accuracy_b):
            break
    lab.clear("overfit")
    for arm_name, losses in (("control", arm_a), ("changed", best)):
        for step, value in enumerate(losses):
            lab.evidence.add("loss", value, step=step, run=f"overfit/{arm_name}")
    passed, own_passed = memorised(best, low, constant, accuracy_b), memorised(arm_a, low, constant, accuracy_a)
    facts = {"passed": passed, "own_passed": own_passed, "floor": low, "constant": constant, "accuracy": accuracy_b,
             "own_accuracy": accuracy_a, "examples": len(rows) if rows is not None else batch_size(tape), "rate": rate_b,
             "first": best[0] if best else None, "last": min(best[-20:]) if best else None, "own_last": min(arm_a[-20:]) if arm_a else None}
    lab.evidence.add("memorised", facts, run="main")
    return {"experiment": "overfit", "change": f"{facts['examples']} examples, fresh Adam {rate_b:g}, dropout and weight decay off",
            "control": arm_a, "changed": best, "before": best[0], "after": facts["last"], **facts}


def _no_dropout():
    return interventions.without_dropout()


def _usable(lab, tape, change):
    """The restriction, if the step can be replayed under it."""
    if change is None:
        return None
    arm = lab.program.fresh()
    arm.bindings.change_constant = change
    try:
        value = tape.replay(arm.bindings).detach()
    except Exception:  # a shape written into the script (view(64, -1)) does not fit fewer rows
        return None
    return change if bool(torch.isfinite(value).all()) else None


def _train_until(rehearsal, lab, low, constant, metric, steps: int = 240, seconds: float = 1.6) -> list[float]:
    deadline = lab.deadline(seconds)
    for goal in (40, 80, 120, 180, steps):
        rehearsal.train(goal, deadline)
        losses = rehearsal.losses
        if not losses or not math.isfinite(losses[-1]):
            break
        if memorised(losses, low, constant, metric.last):
            break
        if goal == 80 and losses[0] - min(losses) < 0.005 * abs(losses[0]):
            break
    return rehearsal.losses


def memorised(losses: list[float], low: float | None, constant: float | None, accuracy: float | None) -> bool:
    """Relative to the reachable floor and the best constant, and the task metric agrees; never an absolute limit."""
    if not losses or not np.isfinite(losses[-1]):
        return False
    last, first = float(np.min(losses[-20:])), float(losses[0])
    if accuracy is not None and accuracy < 0.999:
        return False
    if low is None or constant is None:
        return last < 0.1 * abs(first)
    if constant - low < 1e-4 * max(1.0, abs(first)):
        return last - low < 0.05 * max(abs(first - low), 1e-6)  # constant targets: being at the floor is all there is
    return last - low < PASSED * (constant - low)
