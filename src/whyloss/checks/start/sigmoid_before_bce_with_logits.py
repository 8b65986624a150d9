"""Check: sigmoid outputs given to a loss that applies the sigmoid itself."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls, source_of


@dataclass(frozen=True)
class SigmoidBeforeBceWithLogits(Check):
    """A sigmoid stands in front of binary_cross_entropy_with_logits, which applies it itself.

    Sees      the operation that made the loss function's input, and its range.
    Expects   logits of both signs.
    Means     the loss sees logits between 0 and 1, so its probabilities lie between 0.5 and 0.73.
    Not for   `binary_cross_entropy`, which wants probabilities; sigmoid gates inside the model.
    Source    PyTorch documentation, BCEWithLogitsLoss.
    """

    stage = "start"
    needs = (Need("loss_call"),)
    isolates = "binary cross-entropy with logits gets logits"
    causes = ("sigmoid-before-bce-with-logits",)

    def judge(self, evidence, run):
        for place, call, calls in loss_calls(evidence, run):
            if call["function"] != "binary_cross_entropy_with_logits" or call["producer"] not in ("sigmoid", "softmax"):
                continue
            if min(c["min"] for c in calls) < 0 or max(c["max"] for c in calls) > 1:
                continue
            yield self.prove("sigmoid-before-bce-with-logits", subject=source_of(call), step=0, location=call.get("producer_place") or place,
                             measured=f"inputs of the loss at {place} lie in [{call['min']:.3g}, {call['max']:.3g}], made by a {call['producer']}",
                             expected="logits of both signs", explains=("plateau-high", "flat-from-start"),
                             message="The sigmoid is applied twice: the loss sees probabilities between 0.5 and 0.73 only.",
                             remedies=("remove the sigmoid at the end of the model", "or use binary_cross_entropy on the probabilities"),
                             asks={"operation": call["producer"], "place": call.get("producer_place")})
