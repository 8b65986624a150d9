"""Suspects a learning rate that is too large when the loss diverges, jumps, or sits after one big move."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need
from whyloss.checks.rate import without_scale


@dataclass(frozen=True)
class LearningRateTooHigh(Check):
    """The loss diverges, oscillates or never settles.

    Sees      the symptom, the learning rates, the true relative change of the weights in the first steps.
    Expects   true updates below a tenth of the weights a step.
    Means     a suspicion; confirmed only if a rate lowered by decades ends clearly lower than the unchanged run from the
              same start on the same batches (Adam hides it: its step is bounded, the loss just stays flat after one jump).
    Not for   a training that was seen to learn; a loss that is non-finite before the first step; policy gradients and scores of both signs.
    Source    ten times less against a control arm; CS231n on loss curves.
    """

    loud: float = 1e-4  # median relative update below which "too high" is not a thought

    stage = "learning-rate"
    needs = Need("symptoms"), Need("learning_rate")
    isolates = "a smaller step would not help"
    causes = ("learning-rate-too-high",)

    def judge(self, evidence, run):
        rates = [v for s in evidence.by_subject("learning_rate", run).values() for v in s.values]
        bad = evidence.series("loss", run=run).first_non_finite()
        if not rates or max(rates) == 0 or bad == 0 or bad is None and without_scale(evidence, run):
            return
        ratios = [v for s in evidence.by_subject("update_ratio", run).values() for v in s.values[:20] if np.isfinite(v)]
        middle = float(np.median(ratios)) if ratios else 0.0
        if ratios and middle < self.loud and not {"diverged", "non-finite"} & set(evidence.fact("symptoms", run=run)):
            return
        facts = [s.last.value for s in evidence.by_subject("optimizer", run).values()]
        series = evidence.series("loss", run=run)
        yield self.suspect(
            "learning-rate-too-high", subject=next(iter(evidence.by_subject("learning_rate", run))), step=bad or 0,
            location=next((f["place"] for f in facts if f.get("place")), None),
            measured=f"learning rate {max(rates):g}; loss {series.first.value:.4g} to {series.last.value:.4g}; "
                     f"weights change by {middle:.1e} of their size a step",
            expected="a loss that falls; around 1e-3 of their size a step (a guide)",
            message=f"At a learning rate of {max(rates):g} the steps overshoot: the loss does not settle.")
