"""Check: prediction and target that broadcast against each other."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import ELEMENTWISE, loss_calls, size


def broadcast_shape(first, second) -> list[int] | None:
    """The common shape of two operands, or None where they do not fit."""
    width = max(len(first), len(second))
    one, two = [1] * (width - len(first)) + list(first), [1] * (width - len(second)) + list(second)
    if any(a != b and 1 not in (a, b) for a, b in zip(one, two)):
        return None
    return [max(a, b) for a, b in zip(one, two)]


@dataclass(frozen=True)
class LossBroadcasts(Check):
    """Prediction and target have different shapes and are broadcast to a larger one.

    Sees      the shapes that go into the loss function, or into a hand-written difference, and the shape that comes out.
    Expects   equal shapes.
    Means     every prediction meets every target; the best answer is the mean, and the loss stops at the variance of the targets.
    Not for   pairwise distances ((N, 1, d) against (1, N, d), meant), class weights, a scalar target.
    Source    PyTorch broadcasting semantics; measured: converges to var(y) with predictions all equal (own measurements).
    """

    stage = "start"
    needs = (Need("loss"),)
    isolates = "each prediction meets its own target"
    causes = ("loss-broadcasts",)

    def judge(self, evidence, run):
        for place, call, _calls in loss_calls(evidence, run):
            first, second = call["shape"], call.get("target_shape")
            if call["function"] in ELEMENTWISE and second:
                whole = broadcast_shape(first, second)
                if whole and math.prod(whole) > max(math.prod(first), math.prod(second)):
                    yield self._said(place, call["function"], first, second, whole)
        for place, column in evidence.by_subject("broadcast", run).items():
            fact = column.values[0]
            first, second = fact["shapes"]
            if not fact["module"] and len(first) != len(second) and math.prod(first) == math.prod(second):
                yield self._said(place, fact["operation"].strip("_"), first, second, fact["result"])

    def _said(self, place, operation, first, second, whole):
        return self.prove("loss-broadcasts", subject="loss", step=0, location=place,
                          measured=f"{operation}: {size(first)} with {size(second)} gives {size(whole)}",
                          expected=f"both {size(second)}", explains=("flat-at-baseline", "plateau-high", "flat-from-start"),
                          message=f"{size(first)} against {size(second)} becomes {size(whole)}: every prediction is compared with every target.",
                          remedies=("prediction.squeeze(-1), or target.unsqueeze(-1): give both the same shape",), asks={"place": place})
