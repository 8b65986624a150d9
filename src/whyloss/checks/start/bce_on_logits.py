"""Check: binary cross-entropy on values that were clamped into range."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import learned, losses, source_of

_CUTS = ("clamp", "clip", "hardtanh", "relu", "relu6", "clamp_min")


@dataclass(frozen=True)
class BceOnLogits(Check):
    """binary_cross_entropy is given unbounded values that a clamp pressed into 0..1.

    Sees      the operation that made the loss function's input; whether its values sit on the limits from the first batch on.
    Expects   a sigmoid in front.
    Means     entries on the limits have no gradient, and the logarithm of 0 is near.
    Not for   a sigmoid followed by a narrow clamp, trainings that learn.
    Source    PyTorch documentation, BCELoss.
    """

    edge: float = 1e-3
    spread: float = 0.2

    stage = "start"
    needs = (Need("loss"),)
    isolates = "binary cross-entropy gets probabilities"
    causes = ("bce-on-logits",)

    def judge(self, evidence, run):
        yield from self._refused(evidence, run)
        for place, call, _calls in losses(evidence, run):
            if call["function"] == "binary_cross_entropy" and (call["min"] < -self.edge or call["max"] > 1 + self.edge):
                yield self.prove("bce-on-logits", subject=source_of(call), step=0, location=place,
                                 measured=f"values in [{call['min']:.3g}, {call['max']:.3g}] in a binary cross-entropy",
                                 expected="probabilities, 0 to 1",
                                 explains=("non-finite", "diverged"),
                                 message="The logarithms of binary cross-entropy get numbers that are no probabilities.",
                                 remedies=("use binary_cross_entropy_with_logits on the raw output", "put a sigmoid in front"))
            if call["function"] != "binary_cross_entropy" or call["producer"] not in _CUTS or learned(evidence, run):
                continue
            bounded = call.get("cut_from") in ("sigmoid", "softmax", "exp", "sqrt", "div", "__truediv__", "mean", "sum")
            if call["min"] > self.edge or bounded or call["std"] < self.spread and "cut_from" not in call:
                continue
            yield self.suspect("bce-on-logits", subject=source_of(call), step=0, location=call.get("producer_place") or place,
                               measured=f"values in [{call['min']:.3g}, {call['max']:.3g}] from a {call['producer']}, spread {call['std']:.2g} at "
                                        f"step 0",
                               expected="probabilities from a sigmoid, near 0.5 at the start", explains=("plateau-high", "flat-from-start"),
                               message=f"binary_cross_entropy gets numbers that {call['producer']} cut to 0..1; where it cut, no gradient passes.",
                               remedies=("use binary_cross_entropy_with_logits on the raw output",),
                               asks={"operation": call["producer"], "loss": "binary_cross_entropy_with_logits"})

    def _refused(self, evidence, run):
        """torch itself refused the values, and the script ended there."""
        raised = evidence.fact("raised", run=run) or {}
        if raised.get("type") == "RuntimeError" and "all elements of input should be between 0 and 1" in raised.get("message", ""):
            yield self.prove("bce-on-logits", subject="binary_cross_entropy", step=0, location=raised.get("place"),
                             measured="torch refused the input: not all of it lies between 0 and 1", expected="probabilities, 0 to 1",
                             message="binary_cross_entropy is given numbers that are no probabilities.",
                             remedies=("use binary_cross_entropy_with_logits on the raw output", "put a sigmoid in front"))
