"""Check: probabilities given to a cross-entropy that applies softmax itself."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls, normalised_axis, source_of


@dataclass(frozen=True)
class SoftmaxBeforeCrossEntropy(Check):
    """A softmax stands in front of a cross-entropy, which applies softmax itself.

    Sees      the operation that made the loss function's input, the sums of its rows.
    Expects   logits: unbounded numbers whose rows do not sum to 1.
    Means     softmax twice: even a perfect output keeps a loss of log(1 + (C-1)/e), 1.46 for 10 classes, and gradients are small.
    Not for   log_softmax (applying it again changes nothing), attention weights, `nll_loss`, softmax used for showing only.
    Source    PyTorch documentation, CrossEntropyLoss; floor measured at 1.4612 for C = 10 (own measurements).
    """

    stage = "start"
    needs = (Need("loss_call"),)
    isolates = "cross-entropy gets logits"
    causes = ("softmax-before-cross-entropy",)

    def judge(self, evidence, run):
        for place, call, _calls in loss_calls(evidence, run):
            if call["function"] != "cross_entropy" or call["producer"] != "softmax" or call.get("classes", 2) < 2:
                continue
            axis = normalised_axis(call)
            if call["min"] < 0 or call["max"] > 1 or call.get("row_sum_error", 1.0) > 1e-2:
                continue  # over another axis: a fault of its own
            count = call.get("classes") or (axis[1] if axis else 2)
            floor = math.log(1 + (count - 1) / math.e)
            yield self.prove("softmax-before-cross-entropy", subject=source_of(call), step=0, location=call.get("producer_place") or place,
                             measured=f"inputs of cross_entropy at {place} lie in [{call['min']:.3g}, {call['max']:.3g}] and each row sums to 1",
                             expected="logits: unbounded, before any softmax", explains=("plateau-high", "flat-from-start"),
                             message=f"The output is already a softmax and cross_entropy applies another: with {count} classes "
                                     f"the loss cannot fall below {floor:.2f}.",
                             remedies=("return the logits: remove the softmax at the end of the model",),
                             asks={"operation": "softmax", "place": call.get("producer_place")})
