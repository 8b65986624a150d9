"""The terms of a loss brought to gradients of equal size: does the one that stood still fall then?"""


import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import same_kind
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import trainable
from whyloss.sources import clock
from whyloss.sources.recorder import references
from whyloss.sources.tape import Slot

STEPS = 240
FAR = 30.0      # times the gradient, or the weight, of the other term
FELL = 0.3      # of its value without the change
DEAF = 0.1      # of its value: what the wrong sample's output costs
WAKES = 3.0     # times as much then

_ADD = {"add", "__add__", "__radd__", "__iadd__", "add_"}
_TAKE = {"sub", "__sub__", "subtract", "__isub__"}
_TIMES = {"mul", "__mul__", "__rmul__", "multiply", "__imul__"}
_OVER = {"div", "__truediv__", "divide", "true_divide"}


def split(tape) -> dict[int, float]:
    """{slot: weight} of the additive terms of the recorded loss."""
    makers = {slot: node for node in tape.nodes for slot in node.outputs}
    terms, stack = {}, [(tape.loss.index, 1.0)]
    while stack and len(terms) < 20:
        slot, weight = stack.pop()
        node = makers.get(slot)
        plain = node is not None and node.module is None
        inputs = [ref.index for ref in references(node.args) if isinstance(ref, Slot)] if plain else []
        numbers = [a for a in node.args if isinstance(a, (int, float)) and not isinstance(a, bool)] if plain else []
        if node is not None and node.name in _ADD | _TAKE and inputs:
            stack += [(s, weight * (-1 if n and node.name in _TAKE else 1)) for n, s in enumerate(inputs)]
        elif node is not None and node.name in _TIMES | _OVER and len(inputs) == 1 and len(numbers) == 1 and numbers[0]:
            stack.append((inputs[0], weight * numbers[0] if node.name in _TIMES else weight / numbers[0]))
        else:
            terms[slot] = terms.get(slot, 0.0) + weight
    return terms


@experiment("balance-terms")
def balance_terms(lab, asks):
    """The term that is not learned weighted until its weight and its first gradient are as large as the heavy one's. asks: flat, heavy (their lines).

    Not learned: with the model's outputs handed to other samples it is as good as with the right ones.
    """
    _, tape = first_tape(lab)
    terms = split(tape)
    if len(terms) < 2:
        raise CannotReplay("the loss is summed inside the model, or is one term")
    at = {slot: node.place for node in tape.nodes for slot in node.outputs}
    flat = [s for s in terms if at[s] == asks.get("flat")]
    heavy = [s for s in terms if at[s] == asks.get("heavy") and s not in flat[:1]]
    if not flat or not heavy:
        raise CannotReplay("the terms were not found in the recorded step")
    norms, entries = _norms(lab, tape, terms)
    # the largest of three: a term may be heavy by its weight and still have a small gradient where it begins, near its minimum;
    # or one is a mean over all entries of a sample, of which the other is the sum
    heavier = max(norms[heavy[0]] / max(norms[flat[0]], 1e-30), abs(terms[heavy[0]] / terms[flat[0]]) if terms[flat[0]] else 0.0)
    ratio = max(heavier, entries[flat[0]] if entries[flat[0]] > entries[heavy[0]] else 0.0)
    order = [list(terms).index(s) for s in (flat[0], heavy[0])]
    control, matters = _train(lab, order, 1.0)
    changed, matters_then = _train(lab, order, max(ratio, 1.0))
    tail = max(5, len(changed) // 5)
    before, after = _median(control[-tail:]), _median(changed[-tail:])
    # a cross-entropy of shares has a floor of its own, from which it cannot fall far: there it counts that outputs are told apart at all
    wakes = matters_then > max(DEAF, WAKES * matters) and after < before
    shown = ratio > FAR and matters < DEAF and (wakes or before - after > FELL * abs(before))
    change = f"the other term times {ratio:.3g}, the ratio of their first gradients, weights or entries; the curves show that term"
    outcome = lab.paired("balance-terms", change, control, changed)
    lab.evidence.add("shown", shown, run="balance-terms")
    return {**outcome, "shown": shown, "ratio": ratio, "place": asks["heavy" if heavier == ratio else "flat"]}


def _median(values) -> float:
    return float(torch.tensor(values).median()) if len(values) else float("nan")


def _norms(lab, tape, terms) -> tuple[dict[int, float], dict[int, float]]:
    """Of each term: the norm of its gradient, and the entries of one sample that it is the mean or the sum of."""
    arm = lab.program.fresh()
    made, held = tape.run(arm.bindings), trainable(arm, lab.program.tapes)
    makers = {slot: node for node in tape.nodes for slot in node.outputs}
    root = next((n for n in reversed(tape.nodes) if n.module is not None and made[n.outputs[0]].dim()), None)
    batch = len(made[root.outputs[0]]) if root else 1
    entries = {slot: max([made[ref.index].numel() for ref in references(makers[slot].args) if isinstance(ref, Slot)], default=0) / batch
               for slot in terms}
    found = {}
    for slot, weight in terms.items():
        if not made[slot].requires_grad:
            found[slot] = 0.0
            continue
        gradients = torch.autograd.grad(weight * made[slot].sum(), held, retain_graph=True, allow_unused=True)
        found[slot] = float(sum(g.pow(2).sum() for g in gradients if g is not None) ** 0.5)
    return found, entries


def _train(lab, order: list[int], factor: float) -> tuple[list[float], float]:
    """(values of the first term while it counts `factor` times, how much it cares in the end which sample an output belongs to)."""
    _, first = first_tape(lab)
    arm, flat = train_terms(lab, {order[0]: factor}, shown=lambda n: n == order[0])
    return flat, _matters(arm, first, list(split(first))[order[0]])


def train_terms(lab, factors: dict[int, float], shown) -> tuple:
    """(arm, values of the terms that are `shown`, summed) while term n of the sum counts factors[n] times its own weight."""
    _, first = first_tape(lab)
    arm = lab.program.fresh()
    optimizer = same_kind(arm, trainable(arm, lab.program.tapes))
    tapes = [t for t in lab.program.whole_tapes().values() if len(t.nodes) == len(first.nodes)]
    values, deadline = [], lab.deadline()
    torch.manual_seed(0)
    for at in range(STEPS):
        tape = tapes[at % len(tapes)]
        terms, made = split(tape), tape.run(arm.bindings)
        parts = {n: weight * made[slot].sum() for n, (slot, weight) in enumerate(terms.items())}
        optimizer.zero_grad()
        sum(factors.get(n, 1.0) * part for n, part in parts.items()).backward()
        optimizer.step()
        values.append(sum(float(part.detach()) for n, part in parts.items() if shown(n)))
        if clock.now() > deadline:
            break
    return arm, values


def _matters(arm, tape, slot: int) -> float:
    """By how much of its value a term rises when the last model's outputs are handed on by one sample."""
    root = next(n for n in reversed(tape.nodes) if n.module is not None)
    with torch.no_grad():
        made = tape.run(arm.bindings)
        given = {s: made[s].roll(1, 0) if made[s].dim() else made[s] for s in root.outputs}
        own = float(tape.run(arm.bindings, given={s: made[s] for s in root.outputs})[slot].sum())
        others = float(tape.run(arm.bindings, given=given)[slot].sum())
    return (others - own) / max(abs(own), 1e-12)
