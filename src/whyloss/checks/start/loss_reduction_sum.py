"""Check: a loss that is summed where it should be averaged."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import CLASSES, learned, loss_calls


@dataclass(frozen=True)
class LossReductionSum(Check):
    """The loss is a sum over the batch, so gradient and step are as many times larger.

    Sees      the reduction of the loss function, and that the loss is its value.
    Expects   a mean, or a learning rate chosen for the sum.
    Means     a batch of 64 gives 64 times the gradient: SGD overshoots.
    Not for   trainings that learn (a variational autoencoder sums on purpose), a sum that is divided afterwards.
    Source    Stack Overflow 41954308 and 43611745; with Adam the scale cancels, so the experiment decides.
    """

    least: int = 8

    stage = "start"
    needs = (Need("loss_call"), Need("loss"))
    isolates = "the loss has the scale of one sample"
    causes = ("loss-reduction-scale",)

    def judge(self, evidence, run):
        for place, call, _calls in loss_calls(evidence, run):
            shape = call["shape"]
            terms = math.prod(n for at, n in enumerate(shape) if at != 1) if call["function"] in CLASSES else math.prod(shape)
            first = evidence.series("loss", run=run).first.value
            if call["reduction"] != "sum" or terms < self.least or call.get("value") is None or learned(evidence, run):
                continue
            if abs(first - call["value"]) > 1e-3 * max(1.0, abs(first)):
                continue
            yield self.suspect("loss-reduction-scale", subject=call["function"], step=0,
                               location=place, explains=("diverged", "plateau-high", "spiky", "oscillating"),
                               measured=f"reduction 'sum' over {terms} terms: first loss {first:.4g}, {first / terms:.3g} a term",
                               expected="reduction 'mean'",
                               message=f"The loss is summed over {terms} terms, so each step is {terms} times as long as with the mean.",
                               remedies=("use reduction='mean'", f"or divide the learning rate by {terms}"), asks={"size": terms})
