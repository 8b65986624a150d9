"""Does the loss depend on more of a sequence than its first step? Later steps are exchanged between the samples, on copies."""

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.ignorance import Diary, _random, _same
from whyloss.laboratory.experiments.overfit import batch_size, first_tape
from whyloss.laboratory.experiments.pairs import input_key, target_key
from whyloss.laboratory.experiments.sequence import trained

STEPS = 4    # fewer are hardly a sequence


def _run(arm, tape, key=None, other=None, diary=None) -> torch.Tensor:
    """The loss of the step, in eval mode, with another input in place of the captured one."""
    arm.bindings.force_training = False
    arm.bindings.change_constant = (lambda k, t: other if k == key else t) if key is not None else None
    torch.manual_seed(0)
    with torch.no_grad():
        if diary is None:
            return tape.run(arm.bindings)[tape.loss.index].detach()
        with diary:
            return tape.run(arm.bindings)[tape.loss.index].detach()


def _sequence(tape) -> int:
    """Key of the input, where it is a sequence a sample with one target a sample (a target for each step is another task)."""
    key, wanted = input_key(tape), target_key(tape)
    if key is None or wanted is None:
        raise CannotReplay("the input of the model or its target was not captured")
    given, target = tape.constants[key], tape.constants[wanted]
    if given.dim() != (3 if given.is_floating_point() else 2) or given.shape[1] < STEPS or given.shape[0] != batch_size(tape):
        raise CannotReplay("the input is no batch of sequences")
    if target.dim() > 2 or target.dim() == 2 and target.shape[1] == given.shape[1]:
        raise CannotReplay("each step of the sequence has its own target")
    return key


def unread_steps(lab, name: str) -> dict:
    """Every step after the first taken from another sample: the loss must stay bit for bit for four sets of weights, but not when the first is."""
    _, tape = first_tape(lab)
    key = _sequence(tape)
    given = tape.constants[key]
    later, first = given.roll(1, 0), given.clone()
    first[:, 0] = given[:, 0].roll(1, 0)
    later[:, 0] = given[:, 0]
    if torch.equal(later[:, -1], given[:, -1]) or torch.equal(first, given):
        raise CannotReplay("the steps of the sequences are the same in every sample")
    changes = []
    for arm in (lab.program.fresh(), trained(lab), _random(lab, 1), _random(lab, 2)):
        if arm is None:
            continue
        before = _run(arm, tape)
        if not torch.isfinite(before).all():
            raise CannotReplay("the loss is not finite")
        changes.append((float((_run(arm, tape, key, later) - before).abs().max()), float((_run(arm, tape, key, first) - before).abs().max())))
    unread = not any(change for change, _ in changes) and all(change for _, change in changes)
    lab.clear(name)
    lab.evidence.add("shown", unread, run=name)
    operation, where = _lost_at(lab, tape, key, later) if unread else (None, None)
    return {"experiment": name, "before": 0.0, "after": max(change for change, _ in changes), "steps": 1, "shown": unread, "place": where,
            "change": f"steps 2 to {given.shape[1]} of every sequence exchanged between the samples, with {len(changes)} sets of weights"
                      + (f": the last operation that still saw a difference is {operation}" if operation else "")}


def _lost_at(lab, tape, key, other) -> tuple[str | None, str | None]:
    """(name, line) of the last operation that is given something else and makes the same."""
    plain, changed = Diary(), Diary()
    _run(_random(lab, 1), tape, diary=plain)
    _run(_random(lab, 1), tape, key, other, changed)
    found = None, plain.rows[0][1] if plain.rows else None
    for (name, where, given, made), (_, _, instead, result) in zip(plain.rows, changed.rows):
        if name != "__get__" and not _same(given, instead) and _same(made, result):
            found = name, where
    return found
