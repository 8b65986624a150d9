"""Check: targets that the output's range cannot reach."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import ELEMENTWISE, losses, source_of

_RANGE = {"sigmoid": (0.0, 1.0), "softmax": (0.0, 1.0), "tanh": (-1.0, 1.0), "hardtanh": (-1.0, 1.0), "relu": (0.0, float("inf")), "relu6": (0.0,
                                                                                                                                             6.0)}


@dataclass(frozen=True)
class TargetsOutOfReach(Check):
    """The last activation cannot give the values that the targets have.

    Sees      the operation that made the prediction, the range and spread of the targets.
    Expects   targets inside the range of the output.
    Means     the loss has a floor well above 0, and the units saturate on their way to it.
    Not for   targets that leave the range by noise only, losses on logits, outputs with a scale behind the activation.
    Source    range of the activation; Stack Overflow 48221692 and 48251943.
    """

    excess: float = 0.25    # of the targets' standard deviation

    stage = "start"
    needs = (Need("loss"),)
    isolates = "the targets can be reached"
    causes = ("targets-out-of-reach",)

    def judge(self, evidence, run):
        for place, call, calls in losses(evidence, run):
            if call["function"] not in ELEMENTWISE or call["producer"] not in _RANGE or call.get("target_max") is None:
                continue
            low, high = _RANGE[call["producer"]]
            bottom, top = min(c["target_min"] for c in calls), max(c["target_max"] for c in calls)
            slack = self.excess * max(c.get("target_std", 0.0) for c in calls)
            if bottom >= low - slack and top <= high + slack:
                continue
            reach = f"{low:g} or more" if high == float("inf") else f"{low:g} to {high:g}"
            yield self.prove("targets-out-of-reach", subject=source_of(call), step=0, location=call.get("producer_place") or place,
                             measured=f"targets from {bottom:.4g} to {top:.4g} (mean {call['target_mean']:.3g}); the output, a {call['producer']}, "
                                      f"gives {reach}",
                             expected="targets within the output's range", explains=("plateau-high", "flat-from-start"),
                             message=f"A {call['producer']} at the end can only give {reach}, the targets go from {bottom:.4g} to {top:.4g}: the "
                                     f"rest cannot be learned.",
                             remedies=(f"remove the {call['producer']} at the end", "or scale the targets into its range"),
                             asks={"operation": call["producer"], "place": call.get("producer_place"),
                                   **({"sink": "difference"} if call.get("written") else {})})
