"""Check: a broadcast inside the model that was hardly meant."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import learned, size


@dataclass(frozen=True)
class SilentBroadcast(Check):
    """Two operands of equally many entries and different rank are broadcast to a larger shape inside the model.

    Sees      shapes of the operands and the result of each traced arithmetic operation on the way to the loss.
    Expects   the same rank where the number of entries is the same.
    Means     (N, 1) with (N,) became (N, N): each sample then carries the numbers of all the others.
    Not for   pairwise differences ((N, 1, d) with (1, N, d)), columns made by unsqueeze or indexing with None, biases, masks; with gradients
              in one operand: trainings that learn.
    Source    PyTorch broadcasting semantics.
    """

    stage = "shapes"
    needs = (Need("loss"),)
    isolates = "nothing grows by broadcasting"
    causes = ("silent-broadcast",)

    def judge(self, evidence, run):
        for place, column in evidence.by_subject("outer", run).items():
            fact = column.values[0]
            first, second = fact["shapes"]
            yield self.prove("silent-broadcast", subject=fact["module"] or fact["operation"].strip("_"), step=column.steps[0], location=place,
                             measured=f"{fact['operation'].strip('_')}: {size(first)} with {size(second)} gives {size(fact['result'])}",
                             expected=f"{size(first)} or {size(second)}", explains=("plateau-high",),
                             message=f"{size(first)} against {size(second)} grows to {size(fact['result'])}: each sample gets the numbers of all "
                                     "others, and what is averaged later is no longer its own.",
                             remedies=(f"give both the same shape: squeeze the {size(first if len(first) == 2 else second)} one",))
            return
        for place, column in evidence.by_subject("broadcast", run).items():
            fact = column.values[0]
            first, second = fact["shapes"]
            if not fact["module"] or len(first) == len(second) or math.prod(first) != math.prod(second) or learned(evidence, run):
                continue
            yield self.suspect("silent-broadcast", subject=fact["module"], step=0, location=place, explains=("plateau-high", "flat-at-baseline"),
                               asks={"place": place},
                               measured=f"{fact['operation'].strip('_')}: {size(first)} with {size(second)} gives {size(fact['result'])}",
                               expected=f"{size(first)} or {size(second)}",
                               message=f"{size(first)} against {size(second)} grows to {size(fact['result'])}: samples are combined with each other.")
