"""Check: an activation between the last layer and a loss on logits."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import losses, source_of

_CUT = {"relu": "0 or more", "relu6": "0 to 6", "sigmoid": "0 to 1", "tanh": "-1 to 1", "hardtanh": "-1 to 1", "leaky_relu": "barely below 0"}


@dataclass(frozen=True)
class ActivationOnLogits(Check):
    """ReLU or another activation is applied to the logits of a classifier.

    Sees      the operation that made the input of a cross-entropy, called or written by hand.
    Expects   the plain output of a layer.
    Means     logits that cannot be negative (or large) cannot rule a class out; where ReLU gives 0 no gradient passes.
    Not for   class maps pooled behind a ReLU where the training learns, regression outputs, tanh with a factor behind it, embeddings in a
              contrastive loss.
    Source    Goodfellow et al. 2016, section 6.2.2; Stack Overflow 47352366: only the experiment says how much it costs.
    """

    stage = "start"
    needs = (Need("loss"),)
    isolates = "logits are free"
    causes = ("activation-on-logits",)

    def judge(self, evidence, run):
        for place, call, _calls in losses(evidence, run):
            what, made_at = call["producer"], call.get("producer_place")
            pooled = call.get("pooled_from")
            if pooled and pooled["operation"] in _CUT and evidence.fact("symptoms", run=run):
                what, made_at = pooled["operation"], pooled["place"]  # class maps pooled behind a ReLU: SqueezeNet learns so
            wanted = call["function"] in ("cross_entropy", "log_softmax", "logsumexp") or \
                call["function"] == "binary_cross_entropy_with_logits" and what != "sigmoid"
            if not wanted or what not in _CUT or call.get("classes", (call["shape"] + [2, 2])[1]) < 2:
                continue
            yield self.suspect("activation-on-logits", subject=source_of(call), step=0, location=made_at or place,
                               measured=f"the inputs of {call['function']} come from {what}: [{call['min']:.3g}, {call['max']:.3g}]",
                               expected="logits of both signs, unbounded",
                               explains=("plateau-high", "flat-from-start"),
                               message=f"{what} presses the logits into {_CUT[what]}, so classes cannot be told apart with confidence.",
                               remedies=(f"remove the {what} after the last layer",), asks={"operation": what, "place": made_at,
                                     **({"sink": call["function"]} if call.get("written") else {})})
