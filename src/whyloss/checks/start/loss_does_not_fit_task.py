"""Check: a loss that belongs to another kind of target."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import ELEMENTWISE, losses, source_of


@dataclass(frozen=True)
class LossDoesNotFitTask(Check):
    """Squared error on class ids, or binary cross-entropy on targets outside 0..1.

    Sees      range, wholeness and evenness of the targets, the number of outputs.
    Expects   class ids go into a cross-entropy with one output per class; binary targets are 0 to 1.
    Means     the model minimises something that is not the task: class 3 lies between 2 and 4, or a loss falls below 0 without bound.
    Not for   counts, ratings and other whole numbers that do not run evenly from 0 to C-1; noise at the edge of 0..1.
    Source    Goodfellow et al. 2016, section 6.2.2; Stack Overflow 50641866 and 50079585.
    """

    classes: tuple = (3, 200)
    even: float = 0.9       # entropy of the target values over log C

    stage = "start"
    needs = (Need("loss"),)
    isolates = "loss and target are of one kind"
    causes = ("loss-does-not-fit-task",)

    def judge(self, evidence, run):
        for place, call, calls in losses(evidence, run):
            top, low = max(c.get("target_max", 0) for c in calls), min(c.get("target_min", 0) for c in calls)
            if call["function"].startswith("binary_cross_entropy") and (top > 1.01 or low < -0.01):
                yield self.prove("loss-does-not-fit-task", subject=source_of(call), step=0, location=place,
                                 measured=f"targets from {low:g} to {top:g} in {call['function']}", expected="targets from 0 to 1",
                                 explains=("diverged", "plateau-high", "loss-below-zero"),
                                 message=f"Binary cross-entropy wants targets of 0 to 1 and gets {low:g} to {top:g}: the loss falls below zero "
                                         f"without bound.",
                                 remedies=(f"one of {top + 1:g} classes: as many outputs with cross_entropy",))
            single = call["shape"] and math.prod(call["shape"]) == call["shape"][0]
            if call["function"] in ELEMENTWISE and single and self._ids(calls, low, top):
                yield self.suspect("loss-does-not-fit-task", subject=call["function"], step=0, location=place,
                                   measured=f"all targets are whole numbers, evenly spread over 0 to {top:g}; one output; {call['function']}",
                                   expected=f"{top + 1:g} outputs with cross_entropy, if these are class ids", explains=("plateau-high",),
                                   message=f"The targets look like class ids 0 to {top:g}, taken as numbers: {call['function']} says class 3 lies "
                                           f"between 2 and 4.",
                                   remedies=(f"give the last layer {top + 1:g} outputs and use cross_entropy",
                                             "keep the loss if the order of the values matters"),
                                   asks={"classes": int(top + 1), "unseen": True})

    def _ids(self, calls, low, top):
        count = top + 1
        whole = [c for c in calls if "target_whole" in c]
        if low != 0 or not self.classes[0] <= count <= self.classes[1] or not whole or not all(c["target_whole"] for c in whole):
            return False
        spread = max(c.get("target_entropy", 0.0) for c in whole) / math.log(count)
        return spread > self.even
