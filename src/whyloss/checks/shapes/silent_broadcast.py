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
    Not for   pairwise differences ((N, 1, d) with (1, N, d)), biases, masks, trainings that learn.
    Source    PyTorch broadcasting semantics.
    """

    stage = "shapes"
    needs = (Need("broadcast"),)
    isolates = "nothing grows by broadcasting"
    causes = ("silent-broadcast",)

    def judge(self, evidence, run):
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
