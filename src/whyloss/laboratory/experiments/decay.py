"""The training without what pulls its weights to zero: the optimizer's weight decay, or a penalty that is a term of the loss."""

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import _compare
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.experiments.terms import split, train_terms
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan


@experiment("without-weight-decay")
def without_weight_decay(lab, asks):
    """asks: penalties, the lines of the loss's terms that are made of weights alone; without it the optimizer's own decay is meant."""
    if not asks.get("penalties"):
        return _compare(lab, "without-weight-decay", "weight decay 0", Plan(settings={"weight_decay": 0.0}))
    _, tape = first_tape(lab)
    at = {slot: node.place for node in tape.nodes for slot in node.outputs}
    penalties = {n for n, slot in enumerate(split(tape)) if at.get(slot) in asks["penalties"]}
    if not penalties or len(penalties) == len(split(tape)):
        raise CannotReplay("the penalty was not found among the terms of the recorded step")
    _, control = train_terms(lab, {}, shown=lambda n: n not in penalties)
    _, changed = train_terms(lab, dict.fromkeys(penalties, 0.0), shown=lambda n: n not in penalties)
    return lab.paired("without-weight-decay", "the penalty on the weights left out of the loss; the curves show the rest of the loss",
                      control, changed)
