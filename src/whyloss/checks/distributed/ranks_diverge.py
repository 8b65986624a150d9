"""Ranks that should hold the same weights do not."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.distributed import APART, of_ranks, on_purpose, replicas

KINDS = ("clip", "step", "schedule", "zero", "unscale", "read_grad", "backward")
WORDS = {"clip": "gradient clipping", "step": "optimizer.step()", "schedule": "scheduler.step()", "zero": "zero_grad()", "unscale": "unscaling",
         "read_grad": "access to .grad", "backward": "backward()"}


@dataclass(frozen=True)
class RanksDiverge(Check):
    """Replicas that get the same averaged gradient hold different weights.

    Sees      fingerprints of weights, of gradients after the averaging and at the step, of every rank at the same backward; learning
              rates; calls by line and rank.
    Expects   distance 0: replicas start equal, get equal gradients and make the same step.
    Means     one rank does something of its own: clips, skips a step, has another learning rate, or loads other weights after wrapping.
    Not for   local SGD, own communication hooks, sharded parameters (each rank holds another part), buffers.
    Source    DistributedDataParallel, "Internal Design"; tolerance 1e-4: equal numbers give 0, another order of additions 1e-7.
    """

    tolerance: float = APART  # relative

    stage = "ranks"
    needs = (Need("ranks_weights"),)
    isolates = "all ranks hold the same weights"
    causes = ("ranks-diverge",)

    def judge(self, evidence, run):
        for name, fact in replicas(evidence, run).items():
            weights = evidence.series("ranks_weights", name, run)
            parted = [(at, row) for at, row in zip(weights.steps, weights.values) if row["apart"] > self.tolerance]
            if not parted or on_purpose(fact) or fact["most_alone"] and fact["kind"] == "DistributedDataParallel":
                continue
            first = next(at for at, row in zip(weights.steps, weights.values) if row["apart"] > 1e-6)
            _, last = parted[-1]
            born, kind = self._born(evidence, name, first, run)
            line, who = self._line(evidence, kind, run)
            where = line or fact["place"] or next((p for p in evidence.fact("calls", "step", run, default={}) if ":" in p), None)
            yield self.prove(
                "ranks-diverge", subject=last["parameter"] or name, step=first, location=where,
                measured=f"weights of {last['differ']} of {last['ranks'] - 1} other ranks differ from those of rank {last['from']}: relative "
                         f"distance {last['apart']:.2g} at the end (rank {last['rank']}), first seen before averaged backward {first}",
                expected="distance 0 at every step",
                message=f"{born}{who}: from then on the averaged gradient belongs to none of the models.",
                remedies=((f"do on every rank what is done on one ({where})",) if line else ()) + (
                    "do on every rank what changes gradients or weights", "load and initialise weights before wrapping the model"),
                explains=("ranks-differ",))

    def _born(self, evidence, name, first, run) -> tuple[str, tuple]:
        """(what first differed, kinds of calls that may have made it)"""
        if first == 0:
            return "the ranks start from different weights", ()
        after, at_step = (evidence.series(q, name, run).at(first - 1) for q in ("ranks_gradients", "ranks_step_gradients"))
        if after is None and at_step is None:
            return "weights differ where the ranks were first compared", ()
        if at_step and at_step["rates"][1] is not None and at_step["rates"][1] != at_step["rates"][0]:
            return f"learning rates differ between ranks ({at_step['rates'][0]} and {at_step['rates'][1]})", ("schedule",)
        if after and after["apart"] > 1e-6:
            return "gradients differ between ranks right after the averaging", ()
        if at_step and at_step["apart"] > 1e-6:
            return "gradients are equal after the averaging and differ at the step", ("clip", "unscale", "read_grad", "zero")
        if at_step and at_step["ranks"] == evidence.series("ranks_weights", name, run).at(first)["ranks"]:
            return "equal gradients, but the update differs between ranks", KINDS
        return "a step is made on some ranks only", ("step", *KINDS)

    @staticmethod
    def _line(evidence, kinds: tuple, run) -> tuple[str | None, str]:
        """The line that ranks call unequally often, and words for it."""
        unequal = evidence.by_subject("ranks_calls", run)
        for kind in kinds:
            for subject, column in unequal.items():
                if subject.startswith(f"{kind} ") and ":" in subject:
                    line = subject.split(" ", 1)[1]
                    counts = column.last.value
                    most = max(counts, key=int)
                    least = min(counts, key=int)
                    return line, (f" ({WORDS[kind]} at {line} runs {most} times on {of_ranks(counts[most])}, "
                                  f"{least} times on {of_ranks(counts[least])})")
        return None, ""
