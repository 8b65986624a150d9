"""Check: regression targets far from what the output begins with."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import ELEMENTWISE, loss_calls


@dataclass(frozen=True)
class TargetsNotNormalised(Check):
    """The targets of a regression are orders of magnitude larger than the first outputs, and the training learns little or nothing.

    Sees      mean and spread of the targets, spread of the first predictions, whether the run learned.
    Expects   targets of order 1.
    Means     a suspicion: bounded steps (Adam) need ages to arrive, SGD explodes. Standardised targets decide.
    Not for   trainings that learn well, classification, outputs with a scale of their own.
    Source    Bishop 2006, on pre-processing; an Adam step is at most about the learning rate.
    """

    large: float = 10.0
    times: float = 20.0    # of the first predictions' standard deviation
    well: float = 0.7      # of the variance of the targets explained: below it the experiment is asked though the loss fell

    stage = "data"
    needs = (Need("loss_call"),)
    isolates = "the scale of the targets fits"
    causes = ("targets-not-normalised",)

    def judge(self, evidence, run):
        learned = evidence.fact("learned", run=run) or {}
        if learned.get("learned") and learned["share"] > self.well:
            return
        for place, call, _calls in loss_calls(evidence, run):
            size = max(abs(call.get("target_mean") or 0.0), call.get("target_std") or 0.0)
            if call["function"] not in ELEMENTWISE or size < self.large or size < self.times * call["std"]:
                continue
            yield self.suspect("targets-not-normalised", subject="target", step=0,
                               location=place, explains=("diverged", "plateau-high", "flat-from-start", "non-finite"),
                               measured=f"targets: mean {call['target_mean']:.4g}, standard deviation {call['target_std']:.4g}; first predictions "
                                        f"spread over {call['std']:.3g}",
                               expected="targets of mean 0, standard deviation 1",
                               asks={"unseen": True, "left": 1 - learned["share"]} if learned.get("learned") else {},
                               message=f"The targets are of order {size:.2g}, the outputs begin near {max(abs(call['min']), abs(call['max'])):.2g}: "
                                       f"a long way for short steps.",
                               remedies=("y = (y - y.mean()) / y.std(), undone on the predictions", "start the last bias at the mean of the targets"))
