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
              A loss that breaks after hundreds of steps need not break on the few batches of the copy: where the first steps
              changed the weights by a third of their size or more, a smaller gain that noise does not explain is enough.
    Not for   a training that was seen to learn; a loss that is non-finite before the first step; policy gradients and scores of both signs.
    Source    ten times less against a control arm; CS231n on loss curves.
    """

    loud: float = 1e-4  # median relative update below which "too high" is not a thought
    leap: float = 0.3   # relative change of the middle parameter in one of the first three steps

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
        symptoms = set(evidence.fact("symptoms", run=run))
        if ratios and middle < self.loud and not {"diverged", "non-finite"} & symptoms:
            return
        facts = [s.last.value for s in evidence.by_subject("optimizer", run).values()]
        series = evidence.series("loss", run=run)
        yield self.suspect(
            "learning-rate-too-high", subject=next(iter(evidence.by_subject("learning_rate", run))), step=bad or 0,
            location=next((f["place"] for f in facts if f.get("place")), None),
            measured=f"learning rate {max(rates):g}; loss {series.first.value:.4g} to {series.last.value:.4g}; "
                     f"weights change by {middle:.1e} of their size a step",
            expected="a loss that falls; around 1e-3 of their size a step (a guide)",
            asks={"broke": series.last.value} if "diverged" in symptoms and bad is None and self._leaps(evidence, run) else {},
            message=f"At a learning rate of {max(rates):g} the steps overshoot: the loss does not settle.")

    def _leaps(self, evidence, run) -> bool:
        """Whether the first steps of the training changed its weights as no fitting rate does."""
        first = [max(s.values[:3]) for s in evidence.by_subject("update_ratio", run).values() if s.steps[0] == 0]
        first = [v for v in first if np.isfinite(v)]
        return bool(first) and float(np.median(first)) >= self.leap
