"""Ranks that held the same weights no longer do, as far as norms tell."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need
from whyloss.checks.distributed import APART, replicas


@dataclass(frozen=True)
class ReplicasPart(Check):
    """Weights that every rank holds whole begin with equal norms and part for good.

    Sees      weight norms of each parameter that is not sharded, of all ranks at the same steps: what the ledgers of a monitored run give
              even where no wrapper was heard.
    Expects   the same norm on every rank, at every step.
    Means     the loop averages gradients itself and one rank does something of its own, or nothing is averaged at all.
    Not for   models inside DistributedDataParallel (their fingerprints say more), ranks that hold different models from the start, weights
              that are averaged now and then: they come together again.
    Source    equal gradients and equal steps keep equal weights equal; tolerance 1e-4: another order of additions gives 1e-7.
    """

    tolerance: float = APART  # relative
    frames: int = 8           # compared at least
    grows: float = 1.5        # times over the second half: what is averaged now and then stays where it is

    stage = "ranks"
    needs = (Need("ranks_apart"),)
    isolates = "weights that began equal stay equal"
    causes = ("ranks-diverge",)

    def judge(self, evidence, run):
        if any(fact["kind"] == "DistributedDataParallel" for fact in replicas(evidence, run).values()):
            return
        rows = evidence.series("ranks_apart", "weight_norm", run)
        if len(rows) < self.frames or rows.first.value["differ"]:
            return
        far = np.array([row["apart"] for row in rows.values])
        half = len(far) // 2
        if not (far[half:] > self.tolerance).all() or far[-1] < self.grows * far[half]:
            return
        first = next(o for o in rows if o.value["differ"])
        last = rows.last.value
        yield self.suspect(
            "ranks-diverge", subject=last["parameter"] or "run", step=first.step,
            measured=f"weight norms of {last['differ']} of {last['ranks'] - 1} other ranks differ from those of the first: by {last['apart']:.2g} "
                     f"(relative) at step {rows.last.step} (rank {last['rank']}), first at step {first.step}; equal before",
            expected="the same norm on every rank at every step",
            message="the ranks began with the same weights and no longer hold them: one does something of its own, or no gradient is averaged.",
            remedies=("do on every rank what changes gradients or weights", "average every gradient before the step, or wrap the model"),
            explains=("ranks-differ",))
