"""One score per class in place of one number: are the targets class ids or quantities?"""


import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import same_kind
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.experiments.pairs import features, input_key, target_key
from whyloss.laboratory.lab import STEPS, experiment
from whyloss.laboratory.sandbox import Plan, trainable
from whyloss.sources import clock

BETTER = 0.2   # share of samples right, above the rounded numbers
CLOSER = 0.7   # squared error of the chosen class, of that of the numbers
FAR = 0.6      # squared distance of the chosen class where it is wrong, of that of any other class
SCALE = 5      # classes, of which mistakes tell whether they have an order


class _Scores:
    """Share right and squared error, sample by sample over the last batches."""

    def __init__(self):
        self.rows: list[tuple[float, float]] = []

    def add(self, guess: torch.Tensor, wanted: torch.Tensor) -> None:
        guess, wanted = guess.detach().float().reshape(-1), wanted.float().reshape(-1)
        self.rows.append((float((guess.round() == wanted).float().mean()), float(((guess - wanted) ** 2).mean())))

    def last(self) -> tuple[float, float]:
        kept = self.rows[-max(5, len(self.rows) // 5):]
        return tuple(sum(column) / len(kept) for column in zip(*kept))


@experiment("class-scores")
def class_scores(lab, asks):
    """The same body with one output per class and cross-entropy, against the numbers rounded. asks: classes.

    Quantities are best told by their mean: the chosen class is then not closer to them; and a wrong choice is a neighbour. Class ids have
    no such mean, and a wrong one may be any other.
    """
    if not asks.get("classes"):
        raise CannotReplay("the number of classes is not known")
    control, changed = _numbers(lab), _classes(lab, int(asks["classes"]))
    (right, error), (right_after, error_after) = control.last(), changed.last()
    classes, wrong = int(asks["classes"]), 1 - right_after
    anywhere = classes * (classes + 1) / 6     # squared distance of two different classes drawn at random
    unordered = classes >= SCALE and wrong > 0.05 and error_after / wrong > FAR * anywhere
    shown = right_after > right + BETTER and (error_after < CLOSER * error or unordered and error_after < error)
    lab.clear("class-scores")
    for name, value in (("shown", shown), ("right", right_after), ("squared_error", error_after)):
        lab.evidence.add(name, value, run="class-scores")
    curves = [[row[1] for row in arm.rows] for arm in (control, changed)]
    return {"experiment": "class-scores", "change": f"{asks['classes']} outputs with cross_entropy: {right_after:.0%} of the samples right, "
            f"{right:.0%} when the numbers are rounded; squared error to the targets", "control": curves[0], "changed": curves[1],
            "before": error, "after": error_after, "shown": shown}


def _labels(tape) -> torch.Tensor:
    key = target_key(tape)
    if key is None:
        raise CannotReplay("the targets were not captured")
    return tape.constants[key]


def _numbers(lab) -> _Scores:
    """The user's own step; predictions are read where they meet the targets."""
    seen = _Scores()
    targets = {id(t.constants[k]) for t in lab.program.whole_tapes().values() if (k := target_key(t)) is not None}

    def swap(node, args, kwargs):
        given = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
        wanted = next((a for a in given if id(a) in targets), None)
        guess = next((a for a in given if a.requires_grad), None)
        if node.module is None and wanted is not None and guess is not None and guess.numel() == wanted.numel():
            seen.add(guess, wanted)
        return args, kwargs

    lab.train("class-scores", Plan(swap=swap))
    if not seen.rows:
        raise CannotReplay("prediction and target do not meet outside the model")
    return seen


def _classes(lab, count: int) -> _Scores:
    """A new last layer with one output per class, the rest as it was before the first step."""
    _, tape = first_tape(lab)
    arm, held = lab.program.fresh(), {}
    linear = [m for root in arm.modules.values() for m in root.modules() if isinstance(m, torch.nn.Linear) and m.out_features == 1]
    for layer in linear:
        layer.register_forward_pre_hook(lambda _m, inputs: held.__setitem__("x", inputs[0]))
    tapes = [t for t in lab.program.whole_tapes().values() if len(t.nodes) == len(tape.nodes)]
    torch.manual_seed(0)
    if not linear and input_key(tape) is None:
        raise CannotReplay("there is no last linear layer to give more outputs to")
    with torch.no_grad():
        tape.run(arm.bindings)
    width = held["x"].shape[-1] if "x" in held else features(tape.constants[input_key(tape)]).shape[1]
    wide = width if "x" in held else 64
    head = torch.nn.Linear(wide, count)
    if "x" not in held:
        head = torch.nn.Sequential(torch.nn.Linear(width, wide), torch.nn.ReLU(), head)
    optimizer = same_kind(arm, [*trainable(arm, lab.program.tapes), *head.parameters()])
    seen, deadline = _Scores(), lab.deadline()
    for at in range(STEPS):
        step = tapes[at % len(tapes)]
        if "x" in held:
            step.run(arm.bindings)
            logits = head(held["x"])
        else:
            logits = head(features(step.constants[input_key(step)]))
        wanted = _labels(step).reshape(-1).long()
        logits = logits.reshape(-1, count)
        if logits.shape[0] != wanted.shape[0]:
            raise CannotReplay("there is not one target a sample")
        seen.add(logits.argmax(1), wanted)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, wanted).backward()
        optimizer.step()
        if clock.now() > deadline:
            break
    return seen
