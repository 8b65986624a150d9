"""Single batches whose targets are far outside all others."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need


@dataclass(frozen=True)
class OutlyingTargets(Check):
    """A few batches hold targets many times larger than all others, and the loss jumps there.

    Sees      the largest target of each traced batch, and the loss at those steps.
    Expects   extremes of one size from batch to batch.
    Means     single bad rows (a wrong unit, a sentinel such as 999): spikes that come from data, not from the learning rate.
    Not for   class labels; heavy-tailed targets, where the loss does not jump with them.
    Source    CS231n on loss curves: occasional tall spikes are a few bad batches; Huber 1964 for the robust scale.
    """

    times: float = 8.0   # times the median extreme
    sentinel: float = 20.0  # times the median extreme, and the same value in several batches
    share: float = 0.4   # of the batches at most: else it is the data's own scale

    stage = "start"
    needs = (Need("loss_call", points=8),)
    isolates = "no single batch is of another kind"
    causes = ("labels-corrupted",)

    def judge(self, evidence, run):
        losses = evidence.series("loss", run=run)
        for place, column in evidence.by_subject("loss_call", run).items():
            rows = [(o.step, max(abs(o.value["target_min"]), abs(o.value["target_max"]))) for o in column
                    if "target_min" in o.value and "classes" not in o.value and o.value["counts"]]
            if len(rows) < 8:
                continue
            sizes = np.array([size for _, size in rows])
            middle = float(np.median(sizes))
            bad = [(step, size) for step, size in rows if size > self.times * max(middle, 1e-12)]
            if not bad or len(bad) > self.share * len(rows):
                continue
            jumps = [step for step, _ in bad if (losses.at(step) or 0) > 5 * float(np.median(losses.array()))]
            if len(jumps) < 0.5 * len(bad):
                continue
            steps = ", ".join(str(step) for step, _ in bad[:6])
            limit = float(self.times * middle)
            # the very same extreme again and again is no measurement but a code for "missing": that needs no experiment
            values = [size for _, size in bad]
            # 1 is none: a rare reward, a rare event
            code = any(values.count(v) > 1 and v > self.sentinel * middle and v != 1.0 for v in values)
            largest = max(size for _, size in bad)
            yield (self.prove if code else self.suspect)(
                "labels-corrupted", subject="targets", step=bad[0][0], location=place, asks={"limit": limit, "always": True},
                measured=f"{len(bad)} of {len(rows)} batches hold targets up to {largest:.4g} (steps {steps}); elsewhere up to {middle:.4g}",
                expected=f"extremes near {middle:.3g} in every batch", explains=("spiky", "oscillating"),
                message=f"Single batches hold targets {largest / middle:.0f} times larger than all others, and the loss jumps exactly there.",
                remedies=("look at these rows: a wrong unit or a sentinel value", "drop or mend them, or use a Huber loss"))
            return
