"""Gradients are not averaged over the ranks."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.distributed import APART, on_purpose, replicas, widest


@dataclass(frozen=True)
class GradientsNotReduced(Check):
    """The optimizer steps on gradients that no other rank has added to.

    Sees      which forward passes went through DistributedDataParallel and with synchronisation on, which collectives the loop called
              itself, and the weights of every rank at its steps.
    Expects   before each step, one backward that the wrapper's own forward (or an all-reduce by hand) prepared.
    Means     the loss comes from `wrapper.module(...)`, from a method of the inner module, or `no_sync` covers the last micro-batch
              too; or nothing averages at all although the data are divided by a DistributedSampler.
    Not for   accumulation under no_sync, weights averaged now and then (local SGD), gradients averaged by the loop, processes that
              train different models.
    Source    DistributedDataParallel: only the wrapper's forward prepares the reducer for the backward.
    """

    stage = "ranks"
    needs = (Need("ranks_replica"),)
    isolates = "gradients are averaged over the ranks before each step"
    causes = ("gradients-not-reduced",)

    def judge(self, evidence, run):
        wrapped = [f for f in replicas(evidence, run).values() if f["kind"] == "DistributedDataParallel"]
        for name, fact in replicas(evidence, run).items():
            apart = widest(evidence, "ranks_alone", name, run)
            if not fact["most_alone"] or on_purpose(fact):
                continue
            if fact["kind"] == "DistributedDataParallel":
                if (fact["least_reduced"] == 0 or self._part_later(evidence, name, run)) and not self._stay_equal(evidence, name, run):
                    yield self._past_the_wrapper(name, fact, apart)
            elif fact["kind"] == "by hand" and not wrapped and not fact["by_hand"] and self._divided(evidence, fact, name, run):
                yield self._never_wrapped(evidence, fact, apart, run)

    @staticmethod
    def _part_later(evidence, name, run) -> bool:
        """Some steps were averaged, others not: a fault where the weights are no longer the same afterwards."""
        return any(row["apart"] > APART for row in evidence.series("ranks_weights", name, run).values)

    @staticmethod
    def _stay_equal(evidence, name, run) -> bool:
        """The weights are the same on all ranks, step after step: something that was not heard averages the gradients."""
        rows = evidence.series("ranks_alone", name, run).values
        return len(rows) > 3 and all(row["apart"] <= APART for row in rows)

    @staticmethod
    def _divided(evidence, fact, name, run) -> bool:
        """The ranks began with equal weights, share out one data set, and have parted."""
        rows = evidence.series("ranks_alone", name, run)
        return fact.get("sampler") == "DistributedSampler" and len(rows) > 1 and rows.first.value["apart"] < APART < rows.last.value["apart"]

    def _past_the_wrapper(self, name, fact, apart):
        line = next(iter(fact["bypassed"]), None)
        line = line if line and ":" in line else None
        far = f"; the weights of rank {apart['rank']} are {apart['apart']:.2g} (relative) from those of rank {apart['from']}" if apart else ""
        how = "the forward pass went past the wrapper" if fact["bypassed"] else "every forward pass ran under no_sync"
        return self.prove(
            "gradients-not-reduced", subject=name, step=0, location=line or fact["place"],
            measured=f"{fact['most_alone']} optimizer steps on gradients of one rank alone, {fact['least_reduced']} on averaged ones{far}",
            expected="every step on gradients averaged over the ranks; distance 0",
            message=f"{how}, so no all-reduce was issued: {fact['ranks']} ranks train {fact['ranks']} models.",
            remedies=((f"call the wrapper itself instead of its .module ({line})", "move the work into the model's forward") if fact["bypassed"] else
                      ("leave the last micro-batch before each step outside no_sync",)),
            explains=("plateau-high", "ranks-differ"))

    def _never_wrapped(self, evidence, fact, apart, run):
        places = evidence.fact("calls", "step", run, default={})
        return self.prove(
            "gradients-not-reduced", subject="run", step=0, location=next((p for p in places if ":" in p), None),
            measured=f"{fact['most_alone']} optimizer steps on {fact['ranks']} ranks, no gradient and no weight exchanged; weights that began equal "
                     f"are {apart['apart']:.2g} (relative) apart",
            expected="gradients averaged before each step, or the model inside DistributedDataParallel",
            message=f"a DistributedSampler divides the data over {fact['ranks']} ranks, but nothing averages their gradients: "
                    "each trains on its part alone.",
            remedies=("wrap the model in DistributedDataParallel", "or all-reduce every gradient before the step"),
            explains=("plateau-high", "ranks-differ"))
