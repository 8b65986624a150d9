"""Every rank trains on the same samples."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.distributed import of_ranks, replicas


@dataclass(frozen=True)
class RanksSeeSameData(Check):
    """Two replicas are fed bitwise the same batches, step after step.

    Sees      a code of the bits of each rank's batch at the same backward, whatever the order of its samples; the loss.
    Expects   batches that differ between the ranks.
    Means     no distributed sampler, the same seed and rank everywhere, or the same file shard: n devices do the work of one.
    Not for   model-parallel ranks, a single equal batch among others, wrappers whose input is only noise or positions beside others.
    Source    DistributedSampler; codes of 64 bits: equal ones are equal batches.
    """

    batches: int = 4  # compared at least; equal samples by chance are out of the question, equal first batches are not

    stage = "ranks"
    needs = (Need("ranks_batch"),)
    isolates = "each rank sees its own samples"
    causes = ("ranks-see-same-data",)

    def judge(self, evidence, run):
        found = []
        for name, fact in replicas(evidence, run).items():
            rows = [row for row in evidence.series("ranks_batch", name, run).values if row["ranks"] > 1]
            if not rows:
                continue
            alike = set.intersection(*(set(row["which"]) if row["alike"] > 1 else set() for row in rows))
            varied = len({row["code"] for row in rows}) > 1
            whole = all(row["losses"] == 1 for row in rows)
            if len(rows) < self.batches or len(alike) < 2 or not (varied or whole):
                return
            found.append((name, fact, rows, sorted(alike)))
        for _, fact, rows, alike in found[:1]:
            loader = rows[-1]["loader"] or {}
            many = rows[-1]["alike"] if rows[-1]["alike"] == rows[-1]["ranks"] else len(alike)
            yield self.prove(
                "ranks-see-same-data", subject="data", step=0, location=loader.get("place") or rows[-1]["place"] or fact["place"],
                measured=f"{len(rows)} of {len(rows)} compared batches (of {rows[-1]['size']}) are bitwise the same on {of_ranks(alike)}"
                         + (f"; the loader's sampler is a {loader['sampler']}" if loader.get("sampler") else ""),
                expected="other samples on every rank",
                message=f"{many} ranks train on the same samples: the average of their gradients is the gradient of one.",
                explains=("ranks-alike",))
