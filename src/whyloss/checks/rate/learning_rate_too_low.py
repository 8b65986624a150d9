"""Suspects a learning rate that is too small when nothing is learned; the experiment decides."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need
from whyloss.checks.rate import without_scale


@dataclass(frozen=True)
class LearningRateTooLow(Check):
    """Nothing is learned and the weights hardly move.

    Sees      the symptom, the learning rates, the true relative change of the weights, the tiny-batch result.
    Expects   true updates near 1e-3 of the weights early on; shown, not judged: healthy runs reach 4e-2.
    Means     a suspicion; confirmed only if a rate raised by decades ends clearly lower than the unchanged run from the
              same start on the same batches.
    Not for   a training that was seen to learn, a warm-up, fine-tuning that starts low, loss curves that rose.
    Source    ten times more against a control arm; Karpathy's 1e-3 rule as a guide only.
    """

    quiet: float = 3e-3  # median relative update above which "too low" is not the first thought

    stage = "learning-rate"
    needs = Need("symptoms"), Need("learning_rate")
    isolates = "a larger step would not help"
    causes = ("learning-rate-too-low",)

    def judge(self, evidence, run):
        symptoms = evidence.fact("symptoms", run=run)
        if {"diverged", "non-finite"} & set(symptoms):
            return
        rates = [v for s in evidence.by_subject("learning_rate", run).values() for v in s.values]
        if not rates or max(rates) == 0 or without_scale(evidence, run):
            return
        ratios = [v for s in evidence.by_subject("update_ratio", run).values() for v in s.values[:20]]
        middle = float(np.median(ratios)) if ratios else 0.0
        if middle > self.quiet:
            return
        yield self.suspect(
            "learning-rate-too-low", subject=next(iter(evidence.by_subject("learning_rate", run))), step=0,
            location=_optimizer_place(evidence, run),
            measured=f"learning rate {max(rates):g}; weights change by {middle:.1e} of their size a step",
            expected="around 1e-3 of their size a step (a guide)",
            message=f"With a learning rate of {max(rates):g} the weights hardly move and the loss does not fall.")


def _optimizer_place(evidence, run):
    """Where the first optimizer that stepped was made."""
    facts = [s.last.value for s in evidence.by_subject("optimizer", run).values()]
    return next((f["place"] for f in facts if f.get("place")), None)
