"""Check: validation loss that rises while training loss falls."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.curves import read_pair


@dataclass(frozen=True)
class Overfitting(Check):
    """Validation loss has a minimum and then rises for good, while training loss goes on falling.

    Sees      the series of training and validation loss.
    Expects   both fall and flatten.
    Means     the model learns the samples by heart: too few data for its size, or too many steps.
    Not for   a minimum that is only noise (needs a trend after it), double descent and grokking: a prefix cannot tell.
    Source    Prechelt 1998; trend test after the minimum with 0 false alarms in 200 simulated pairs, "methods" 1.5.
    """

    sure: float = 0.5

    stage = "generalisation"
    needs = (Need("val_loss", points=8), Need("loss", points=20))
    isolates = "what is learned holds for new samples"
    causes = ("overfitting",)

    def judge(self, evidence, run):
        train, val = evidence.series("loss", run=run), evidence.series("val_loss", run=run)
        reading = read_pair(train.steps, train.values, val.steps, val.values)
        if reading.label != "overfitting" or reading.confidence < self.sure:
            return
        yield self.prove("overfitting", subject="validation loss", step=reading.turning_step, explains=("overfitting",),
                         location=next(iter(evidence.by_subject("root", run)), None), measured=reading.detail,
                         expected="a validation loss that falls or stays",
                         message=f"Since step {reading.turning_step} the model improves on the training data only.",
                         remedies=(f"stop at step {reading.turning_step}", "more data or augmentation", "weight decay, dropout, or a smaller model"))
