"""Check: nll_loss on values that are no log-probabilities."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.start import losses, source_of


@dataclass(frozen=True)
class NllWithoutLogSoftmax(Check):
    """nll_loss is given logits or probabilities.

    Sees      exp of the loss function's input, summed over the classes.
    Expects   1 in every row: log-probabilities.
    Means     NLL only picks an entry and negates it, so with logits the loss falls without bound.
    Not for   log_softmax over another axis (a check of its own), losses that hand NLL its own log-probabilities,
              minus the mean probability of the label (a robust loss of its own).
    Source    PyTorch documentation, NLLLoss.
    """

    tolerance: float = 0.05

    stage = "start"
    needs = (Need("loss"),)
    isolates = "nll_loss gets log-probabilities"
    causes = ("nll-without-log-softmax",)

    def judge(self, evidence, run):
        for place, call, calls in losses(evidence, run):
            if not call["function"].startswith("nll_loss") or call["producer"] == "log_softmax" or call.get("logged"):
                continue
            if call.get("exp_row_sum_error") is None:
                continue
            error = median(c.get("exp_row_sum_error", 0.0) for c in calls[:8])
            if error < self.tolerance:
                continue
            if call.get("written") and call.get("diagonal"):
                continue  # positives of a contrastive loss, not labels
            probabilities = call["min"] >= 0 and call["max"] <= 1 and call.get("row_sum_error", 1.0) < 1e-2
            if probabilities and call.get("written"):
                continue  # minus the probability of the label is a loss of its own
            given = "probabilities" if probabilities else "logits"
            yield self.prove("nll-without-log-softmax", subject=source_of(call), step=0, location=place,
                             measured=f"exp of the inputs of {call['function']} sums to 1 ± {error:.3g} over the classes; range [{call['min']:.3g}, "
                                      f"{call['max']:.3g}]",
                             expected="log-probabilities: exp sums to exactly 1", explains=("diverged", "plateau-high", "loss-below-zero"),
                             message=f"nll_loss is given {given}: it only negates the entry of the label, so the loss falls by growing numbers, not "
                                     f"by learning.",
                             remedies=("use cross_entropy on the logits", "or put log_softmax(dim=1) in front of nll_loss"),
                             asks={"probabilities": probabilities, "place": place})
