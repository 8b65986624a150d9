"""Check: a first loss far below what guessing gives."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.initialisation.weights_too_large import scale_ratios
from whyloss.checks.start import CLASSES, learned, loss_calls, source_of


@dataclass(frozen=True)
class FirstLossOffChance(Check):
    """The first loss of fresh weights is far from what guessing gives.

    Sees      the loss at step 0, the entropy of the labels, the spread of the first logits, the size of the first weights.
    Expects   log C, or the entropy of the labels; up to 1.5 nats more under He initialisation is no fault.
    Means     far below, from fresh weights: the answer leaks into the input. Far above: the first logits are too large.
    Not for   pretrained or resumed models, other losses, class weights, label smoothing, a prior in the last bias, trainings that learn (above).
    Source    CS231n; own measurements: the tolerance of 0.5 nats flags He-initialised nets that train well.
    """

    below: float = 0.5     # times the entropy of the labels
    above: float = 3.0     # nats over chance
    fresh: float = 0.06    # PyTorch's default draws 0.408 times He's standard deviation

    stage = "start"
    needs = (Need("loss", at=0), Need("loss_call", at=0), Need("label_entropy", at=0), Need("parameter"))
    isolates = "forward pass and loss give what guessing gives"
    causes = ("initial-weights-too-large", "target-leak")

    def judge(self, evidence, run):
        entropy, chance = evidence.series("label_entropy", run=run).first.value, evidence.series("chance", run=run)
        for place, call, _calls in loss_calls(evidence, run):
            if call["function"] not in CLASSES + ("binary_cross_entropy_with_logits",
                                                  ) or call["reduction"] != "mean" or call["weighted"] or call["smoothing"]:
                continue
            first, log_c = call["value"], chance.first.value if chance else entropy
            ratios = list(scale_ratios(evidence, run).values())
            fresh = ratios and max(abs(r - 0.408) for r in ratios) < self.fresh
            said = {"subject": source_of(call), "step": 0, "location": place,
                    "expected": f"{entropy:.2f} (entropy of the labels) to {log_c:.2f} (log of the classes)"}
            if first < self.below * entropy and entropy > 0.3 and call.get("accuracy", 0) > 0.8 and fresh:
                yield self.suspect("target-leak", **said,
                                   measured=f"first loss {first:.3g}, accuracy {call['accuracy']:.0%} before any step, with fresh weights",
                                   message="Untrained weights already know the answer: it must be in the input.", explains=("first-loss-off",))
            elif first > log_c + self.above and call["std"] > 3 and not learned(evidence, run) and median(ratios or [0.0]) > 0.8:
                yield self.suspect("initial-weights-too-large", **said, measured=f"first loss {first:.4g}; logits spread over {call['std']:.3g}",
                                   message=f"Before any step the logits are of order {call['std']:.2g}: confident and wrong.",
                                   explains=("plateau-high", "first-loss-off"))
