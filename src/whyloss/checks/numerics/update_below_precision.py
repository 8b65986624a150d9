"""Check: updates that the number format of the weights rounds away."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need

_STEP = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}   # half a step of the format, relative


@dataclass(frozen=True)
class UpdateBelowPrecision(Check):
    """Gradients arrive and steps are taken, but half-precision weights do not move.

    Sees      the true change of each parameter, its gradient's state, its number format, the loss.
    Expects   a weight matrix that moves when a finite gradient and a learning rate above 0 meet.
    Means     each update is less than half a step of the format, so the sum rounds back to the old number.
    Not for   float32 weights, a learning rate of 0, steps that a GradScaler skips, frozen parameters.
    Source    machine epsilon: 7.8e-3 (bfloat16), 9.8e-4 (float16); measured: bfloat16 with Adam 1e-5 leaves 93 % of entries unchanged.
    """

    share: float = 0.9     # of the traced steps without any change
    steps: int = 5

    stage = "numerics"
    needs = (Need("parameter"), Need("update_norm", points=3), Need("grad_state", points=3), Need("learning_rate"))
    isolates = "the number format can hold the updates"
    causes = ("update-below-precision",)

    def judge(self, evidence, run):
        if max((max(c.values) for c in evidence.by_subject("learning_rate", run).values()), default=0.0) <= 0:
            return
        stuck, seen = [], []
        for name, column in evidence.by_subject("parameter", run).items():
            fact = column.values[-1]
            states = evidence.series("grad_state", name, run)
            changes = evidence.series("update_norm", name, run).array()
            if fact["dtype"] not in _STEP or not fact["held"] or len(fact["shape"]) < 2 or len(changes) < self.steps:
                continue
            if states.values.count("finite") < self.share * len(states):
                continue
            seen.append(name)
            if (changes == 0).mean() >= self.share:
                stuck.append((name, fact["dtype"], median(evidence.series("weight_norm", name, run).values)))
        if stuck and len(stuck) >= 0.5 * len(seen):
            name, dtype, size = stuck[0]
            yield self.prove("update-below-precision", subject=name, step=0, explains=("flat-from-start",),
                             measured=f"{len(stuck)} of {len(seen)} {dtype} matrices did not change in {self.share:.0%} of the steps, with finite "
                                      f"gradients",
                             expected=f"updates above {_STEP[dtype]:.1g} of a weight (norm of {name}: {size:.3g})",
                             message=f"The weights are kept in {dtype} and each update is too small for it: it is rounded back to the old value.")
