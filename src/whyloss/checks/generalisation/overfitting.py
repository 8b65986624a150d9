"""Check: validation loss that rises while training loss falls, or training samples known by heart and others not."""

import math
from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.curves import read_pair


@dataclass(frozen=True)
class Overfitting(Check):
    """Validation loss has a minimum and then rises for good, while training loss goes on falling; or every training sample is right, and
    validation stays far behind.

    Sees      the series of training and validation loss, and of both accuracies.
    Expects   both fall and flatten.
    Means     the model learns the samples by heart: too few data for its size, or too many steps.
    Not for   a minimum that is only noise (needs a trend after it), double descent and grokking: a prefix cannot tell; a validation
              that is far worse from its first time on, when little can be known by heart yet: its rows are others, or prepared otherwise.
    Source    Prechelt 1998; trend test after the minimum with 0 false alarms in 200 simulated pairs, "methods" 1.5.
    """

    sure: float = 0.5
    gap: float = 0.2      # of accuracy: a smaller one is common
    heart: float = 0.99   # training accuracy of samples known by heart
    times: float = 20.0   # validation loss over training loss
    apart: float = 1.5    # times the training loss at the first validation
    points: int = 8       # validation losses for a curve; of fewer, each above the last and
    worse: float = 1.2    # so many times the first at the end
    scored: int = 100     # validation samples: of fewer, a gap this wide may be chance

    stage = "generalisation"
    needs = (Need("val_loss", points=3), Need("loss", points=20))
    isolates = "what is learned holds for new samples"
    causes = ("overfitting",)

    def judge(self, evidence, run):
        train, val = evidence.series("loss", run=run), evidence.series("val_loss", run=run)
        reading = read_pair(train.steps, train.values, val.steps, val.values) if len(val) >= self.points else None
        if reading is None or reading.label != "overfitting" or reading.confidence < self.sure:
            yield from self._by_heart(evidence, run, train, val)
            return
        if self._apart_at_once(train, val, reading.turning_step):
            return
        yield self.prove("overfitting", subject="validation loss", step=reading.turning_step, explains=("overfitting",),
                         location=next(iter(evidence.by_subject("root", run)), None), measured=reading.detail,
                         expected="a validation loss that falls or stays",
                         message=f"Since step {reading.turning_step} the model improves on the training data only.",
                         remedies=(f"stop at step {reading.turning_step}", "more data or augmentation", "weight decay, dropout, or a smaller model"))

    def _apart_at_once(self, train, val, turning: int) -> bool:
        held_out = val.finite()
        first = held_out.steps[0]
        if turning > held_out.steps[min(1, len(held_out) - 1)] or min(held_out.values) <= 0:
            return False
        before = [value for step, value in zip(train.steps, train.values) if step <= first and math.isfinite(value)]
        return len(before) >= 20 and held_out.values[0] > self.apart * median(before[-max(5, len(before) // 4):])

    def _by_heart(self, evidence, run, train, val):
        right, held_out = (evidence.series(name, run=run).finite() for name in ("accuracy", "val_accuracy"))
        few = val.finite().values
        rises = len(few) >= 3 and few == sorted(few) and few[-1] > self.worse * few[0]
        if len(right) < 20 or len(held_out) < 3 or len(few) < self.points and not rises:
            return
        known, new = median(right.values[-len(right) // 5:]), held_out.values[-3:]
        losses = median(train.values[-len(train) // 5:]), median(few[-3:])
        middle = median(few[len(few) // 2:len(few) // 2 + 3])
        samples = max((math.prod(row["prediction"]) for column in evidence.by_subject("comparison", run).values() for row in column.values
                       if row["made"].get("by") in ("argmax", "max", "threshold")), default=0)
        if known < self.heart or max(new) > known - self.gap or losses[1] < self.times * losses[0] or losses[1] < 0.95 * middle \
                or samples < self.scored:
            return
        yield self.prove("overfitting", subject="validation accuracy", step=held_out.steps[-1], explains=("overfitting",),
                         location=next(iter(evidence.by_subject("root", run)), None),
                         measured=f"training accuracy {known:.3f} at loss {losses[0]:.3g}; validation accuracy {median(new):.3f} at loss "
                                  f"{losses[1]:.3g}, which falls no more ({middle:.3g} half-way)",
                         expected=f"a gap below {self.gap:g}",
                         message="Every training sample is known by heart, and what was learned does not hold for others.",
                         remedies=("more data or augmentation", "weight decay, dropout, or a smaller model"))
