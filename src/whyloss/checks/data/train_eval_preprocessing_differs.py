"""Check: training and validation inputs of different scale."""

import math
from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need


@dataclass(frozen=True)
class TrainEvalPreprocessingDiffers(Check):
    """The inputs of the evaluation have another mean or spread than those of the training.

    Sees      median over features of the standardised mean difference and of the log ratio of spreads, training against evaluation.
    Expects   0.04 and 0.03 at most for batches of 64 of the same data.
    Means     a missing division, another mean or channel order: the model is judged where it has never been.
    Not for   a model that has learned nothing (its answers may suit any other preparation by chance), augmentation (blurs the ratio a
              little), another domain on purpose, a few rows, fine-tuning on one part of the classes.
    Source    own measurements: raw instead of normalised gives 2.99 / 1.79, divided by 255 twice 0 / 5.54.
    """

    shift: float = 1.5
    ratio: float = 0.9       # natural log: a factor of 2.5
    clear: float = 2.0       # times these: beyond any other explanation
    rows: int = 30

    stage = "data"
    needs = (Need("evaluation_inputs"),)
    isolates = "both sets are prepared alike"
    causes = ("train-eval-preprocessing-differs",)

    def judge(self, evidence, run):
        for place, column in evidence.by_subject("evaluation_inputs", run).items():
            fact = column.values[-1]
            if fact["rows"] < self.rows or "shift" not in fact or not math.isfinite(fact["shift"]):
                continue
            spread = max(fact["log_std_ratio"], fact["overall_log_std_ratio"], key=abs)
            worse = _worse(evidence, run)
            if max(fact["shift"] / self.shift, abs(fact["log_std_ratio"]) / self.ratio) < 1 and worse:
                if not (evidence.fact("learned", run=run) or {"learned": True})["learned"]:
                    continue
                yield self.suspect("train-eval-preprocessing-differs", subject="validation input", step=column.steps[-1], location=place,
                                   explains=("validation-worse",), asks={"unseen": True}, measured=worse,
                                   expected="rows of both sets prepared by the same function",
                                   message="The evaluation inputs are not prepared like the training inputs.",
                                   remedies=("build both transforms from one function",
                                             "use the training set's mean, spread and channel order for both"))
                continue
            excess = max(fact["shift"] / self.shift, abs(fact["log_std_ratio"]) / self.ratio)
            if excess < 1:
                continue
            said, asks = (self.prove, {}) if excess >= self.clear else (self.suspect, {"unseen": True})  # near the limit only the experiment speaks
            yield said("train-eval-preprocessing-differs", subject="validation input", step=column.steps[-1], location=place,
                       explains=("validation-worse",), asks=asks,
                       measured=f"mean off by {fact['shift']:.2f} standard deviations, spread {math.exp(spread):.3g} times that of training "
                                f"({fact['rows']} rows)",
                       expected="mean off by less than 0.1, spread 1.0 times",
                       message="The evaluation inputs are not prepared like the training inputs.",
                       remedies=("build both transforms from one function", "use the training set's mean and standard deviation for both"))


def _worse(evidence, run) -> str | None:
    """What says that the evaluation is answered worse than the training data: without that nothing needs an explanation."""
    train, val = evidence.series("accuracy", run=run), evidence.series("val_accuracy", run=run)
    if train and val:
        seen, new = float(np.median(train.array()[-5:])), float(val.last.value)
        if new < seen - 0.05:
            return f"accuracy {seen:.2f} in the last training steps, {new:.2f} in evaluation"
        return None
    losses, held = evidence.series("loss", run=run), evidence.series("val_loss", run=run)
    if losses and held and held.last.value > 1.3 * float(np.median(losses.array()[-9:])):
        return f"loss {float(np.median(losses.array()[-9:])):.3g} in training, {held.last.value:.3g} in evaluation"
    return None
