"""Check: an input that carries the answer, in training only."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need


@dataclass(frozen=True)
class TargetLeak(Check):
    """Training is nearly perfect, evaluation far worse.

    Sees      loss and accuracy of training and evaluation at the end.
    Expects   sets of the same kind; a gap has many reasons.
    Means     a suspicion, raised by the experiment alone: one column (or one argument) answers the training rows by itself and fails on
              new rows. Confirmed when the model does better on new rows without it, or by a column whose values are means of few labels each,
              the row's own among them.
    Not for   a strong feature that is as strong on new rows, plain overfitting (no column does it alone), token ids, means over large groups,
              over earlier rows, or over all rows but the own one.
    Source    Kaufman et al. 2012; single-column predictors with separate halves, own measurements: planted 1.00 against .90 for the next.
    """

    gap: float = 0.05
    times: float = 1.5

    stage = "data"
    needs = (Need("evaluation_inputs"), Need("loss", points=5))
    isolates = "no input gives the answer away"
    causes = ("target-leak",)

    def judge(self, evidence, run):
        loss = float(np.median(evidence.series("loss", run=run).array()[-9:]))
        losses, accuracy, seen = (evidence.series(q, run=run) for q in ("val_loss", "val_accuracy", "accuracy"))
        worse = bool(losses) and losses.last.value > self.times * max(loss, 1e-9)
        if accuracy and seen:
            worse |= accuracy.last.value < float(np.median(seen.array()[-5:])) - self.gap
        blind = not losses and not accuracy      # evaluated outside of torch: nothing is known of the rows' labels there
        if not worse and not blind:
            return
        place = next(iter(evidence.by_subject("input", run)), None)
        yield self.suspect("target-leak", subject="input", step=0, location=place, asks={"unseen": True},
                           explains=("validation-worse", "overfitting"),
                           measured=f"training loss {loss:.3g}, evaluation {'not seen' if blind else 'worse'}",
                           expected="no single column that is right in training only",
                           message="One input gives the training labels away and is worth little on new rows.",
                           remedies=("drop this input", "keep only what is known at prediction time; compute encodings and votes out of fold"))
