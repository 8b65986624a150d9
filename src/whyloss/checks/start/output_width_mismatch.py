"""Check: a number of outputs that does not fit the targets."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import CLASSES, ELEMENTWISE, losses, size, source_of
from whyloss.checks.start.loss_broadcasts import broadcast_shape


@dataclass(frozen=True)
class OutputWidthMismatch(Check):
    """The number of outputs does not fit the number of targets or classes.

    Sees      the shapes that go into the loss, and the labels seen in the traced steps.
    Expects   one output per target, one score per class.
    Means     one number is compared with several targets and can only become their mean; spare classes are a note.
    Not for   vocabularies with rare words, a target that is one number for all on purpose.
    Source    definition of the loss: one score per class, one output per target.
    """

    spare: float = 4.0     # times more classes than label values
    labels: int = 20       # labels seen per class before a class counts as unused

    stage = "start"
    needs = (Need("loss"),)
    isolates = "one output per class or target"
    causes = ("output-width-mismatch",)

    def judge(self, evidence, run):
        raised = evidence.fact("raised", run=run) or {}
        if raised.get("type") == "IndexError" and raised.get("message", "").startswith("Target ") and "out of bounds" in raised["message"]:
            label = raised["message"].split()[1]
            yield self.prove("output-width-mismatch", subject="cross_entropy", step=0, location=raised.get("place"),
                             measured=f"a label of {label}, which is not below the number of outputs", expected="labels from 0 to outputs - 1",
                             message=f"The loss meets the label {label} and has no score for it: too few outputs, or ids that are too large.",
                             remedies=("give the last layer one output per class", "number the classes from 0"))
        for place, call, calls in losses(evidence, run):
            first, second = call["shape"], call.get("target_shape")
            if call["function"] in ELEMENTWISE and second and len(first) == len(second) == 2 and first[1] == 1 < second[1] and first[0] == second[0]:
                if broadcast_shape(first, second) == second:
                    yield self.prove("output-width-mismatch", subject=source_of(call), step=0, location=place,
                                     measured=f"prediction {size(first)}, target {size(second)}", expected=f"prediction {size(second)}",
                                     explains=("plateau-high",),
                                     message=f"One output is compared with {second[1]} targets; it can only become their mean.",
                                     remedies=(f"give the last layer {second[1]} outputs",))
            elif call["function"] in CLASSES and "classes" in call and call.get("target_max") is not None:
                top = max(c.get("target_max", 0) for c in calls) + 1
                seen = sum(math.prod(c.get("target_shape") or [0]) for c in calls)
                if call["classes"] > self.spare * top and seen > self.labels * call["classes"]:
                    yield self.note("output-width-mismatch", subject=source_of(call), step=0, location=place,
                                    measured=f"{call['classes']} outputs, labels from 0 to {top - 1:g}", expected=f"{top:g} outputs",
                                    message=f"{call['classes'] - top:g} of {call['classes']} classes never occur in {seen} labels.")
