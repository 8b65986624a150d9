"""Check: training labels of which a share is wrong."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need


@dataclass(frozen=True)
class LabelNoise(Check):
    """The evaluation is answered better than the training data.

    Sees      accuracy in the last traced training steps and in the last evaluation.
    Expects   training at least as good as evaluation.
    Means     a suspicion: a share of the training labels is wrong while those of the evaluation are clean. Decided with the trained
              weights in eval mode on both, and by a vote of neighbours, against their standard errors.
    Not for   dropout and augmentation (the same weights in eval mode, the same kind of rows), noise that both sets share: it is the
              task's own and no fault.
    Source    Northcutt et al. 2021, arXiv 1911.00068; exact two-sample test of shares.
    """

    gap: float = 0.05

    stage = "data"
    needs = (Need("val_accuracy"), Need("accuracy", points=8))
    isolates = "training labels are as good as those of the evaluation"
    causes = ("label-noise",)

    def judge(self, evidence, run):
        seen = evidence.series("accuracy", run=run)
        train, val = float(np.median(seen.array()[-5:])), float(evidence.series("val_accuracy", run=run).last.value)
        if not val > train + self.gap:
            return
        place = next(iter(evidence.by_subject("loss_call", run)), None)
        yield self.suspect("label-noise", subject="labels", step=seen.last.step, location=place, asks={"unseen": True},
                           explains=("plateau-high", "validation-better"),
                           measured=f"accuracy {train:.2f} in the last training steps, {val:.2f} in evaluation",
                           expected="training rows right at least as often as new ones",
                           message="The model answers new rows better than those it was trained on: a share of the training labels is wrong.")
