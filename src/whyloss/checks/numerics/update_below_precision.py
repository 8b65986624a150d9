"""Check: updates that the number format of the weights rounds away."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned

_STEP = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}   # half a step of the format, relative


@dataclass(frozen=True)
class UpdateBelowPrecision(Check):
    """Gradients arrive and steps are taken, but half-precision weights do not move.

    Sees      the share of entries with a gradient that a step left exactly as they were, by parameter, and its number format.
    Expects   nearly all of them to move when a gradient and a learning rate above 0 meet.
    Means     each update is less than half a step of the format, so the sum rounds back to the old number. Nearly all entries
              of most parameters: a fact. A majority: suspected, confirmed if a copy in float32 ends clearly lower.
    Not for   float32 weights, a learning rate of 0, steps that a GradScaler skips, frozen parameters, trainings that learn.
    Source    machine epsilon: 7.8e-3 (bfloat16), 9.8e-4 (float16); measured: bfloat16 with Adam 1e-5 leaves 93 % of entries unchanged.
    """

    share: float = 0.95    # of the entries, in the median step: nothing moves
    much: float = 0.5      # worth an experiment
    steps: int = 5

    stage = "wiring"
    needs = (Need("parameter"), Need("unchanged_share", points=3), Need("grad_state", points=3), Need("learning_rate"))
    isolates = "the number format can hold the updates"
    causes = ("update-below-precision",)

    def judge(self, evidence, run):
        if max((max(c.values) for c in evidence.by_subject("learning_rate", run).values()), default=0.0) <= 0 or learned(evidence, run):
            return
        seen = {}
        for name, column in evidence.by_subject("parameter", run).items():
            fact, unchanged = column.values[-1], evidence.series("unchanged_share", name, run)
            states = evidence.series("grad_state", name, run).values
            if fact["dtype"] in _STEP and fact["held"] and len(unchanged) >= self.steps and states.count("finite") >= 0.9 * len(states):
                size = 1
                for extent in fact["shape"]:
                    size *= extent
                seen[name] = (median(unchanged.values), fact["dtype"], size)
        if not seen:
            return
        total = sum(size for _, _, size in seen.values())
        share = sum(still * size for still, _, size in seen.values()) / total
        if share < self.much:
            return
        name = max(seen, key=lambda n: seen[n][:1] + seen[n][2:])
        dtype = seen[name][1]
        say = self.prove if share >= self.share else self.suspect
        yield say("update-below-precision", subject=name, step=0, explains=("flat-from-start",),
                  measured=f"{share:.0%} of the {dtype} entries with a gradient are exactly the same after a step; {seen[name][0]:.0%} of {name}",
                  expected=f"entries that move; an update of less than {_STEP[dtype]:.1g} of the entry is lost",
                  message=f"The weights are kept in {dtype} and most updates are too small for it: they are rounded back to the old value.")
