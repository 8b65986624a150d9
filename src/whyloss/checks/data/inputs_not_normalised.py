"""Check: inputs whose scale or offset is far from what a network can use."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class InputsNotNormalised(Check):
    """The inputs are far from mean 0 and standard deviation 1, and the training does not learn.

    Sees      mean, standard deviation and range of the first batches; whether the run learned or diverged.
    Expects   values of order 1.
    Means     a suspicion: huge activations saturate or kill units, and no single rate fits all features. Standardised inputs decide.
    Not for   trainings that learn (raw pixels often do), token ids, a first layer that normalises.
    Source    LeCun et al. 1998; own measurements: damage is not implied, a ReLU net loses little.
    """

    large: float = 15.0      # mean or standard deviation
    diverging: float = 4.0   # the same, where the loss grew or became NaN
    small: float = 0.02      # standard deviation

    stage = "data"
    needs = (Need("input", at=0), Need("loss"))
    isolates = "the scale of the inputs fits"
    causes = ("inputs-not-normalised",)

    def judge(self, evidence, run):
        if (evidence.fact("learned", run=run) or {}).get("learned"):
            return
        losses = evidence.series("loss", run=run)
        finite = losses.finite()
        grew = bool(finite) and finite.last.value > 3 * abs(finite.first.value)
        for place, column in evidence.by_subject("input", run).items():
            row = column.values[0]
            size = max(abs(row["mean"]), row["std"])
            if not row["floating"] or row["non_finite"] or not math.isfinite(size) or row.get("between_samples") == 0:
                continue
            if size < (self.diverging if grew else self.large) and not 0 < size < self.small:
                continue
            yield self.suspect("inputs-not-normalised", subject="input", step=0,
                               location=place, explains=("diverged", "non-finite", "flat-from-start", "plateau-high"),
                               measured=f"mean {row['mean']:.4g}, standard deviation {row['std']:.4g}, from {row['min']:.4g} to {row['max']:.4g}",
                               expected="mean 0, standard deviation 1",
                               message=f"The raw inputs go from {row['min']:.4g} to {row['max']:.4g}: too "
                                       f"{'small' if size < self.small else 'large'} for weights of the usual size.",
                               remedies=("x = (x - mean) / std, with the numbers of the training set", "apply the same numbers to validation data"))
