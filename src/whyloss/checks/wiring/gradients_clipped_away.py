"""Clipping leaves next to nothing."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned


@dataclass(frozen=True)
class GradientsClippedAway(Check):
    """Clipping leaves next to nothing of the gradient at nearly every step.

    Sees      the gradient norm before and after each clip, and the limit; without a clip of torch's, the norm behind backward and at the step.
    Expects   clipping that cuts the rare large step.
    Means     the limit is far below the usual norm (1e-3 meant as a rate, a norm over millions of weights).
    Not for   gradients still multiplied by a loss scale, Adam (which undoes a constant factor) in a run that learns.
    Source    Pascanu et al. 2013: a threshold near the average norm; here a fiftieth of it raises the suspicion.
    """

    left: float = 0.02   # norm after over norm before; the experiment decides
    share: float = 0.9   # of the clips
    clips: int = 5
    even: float = 1.05   # largest over smallest norm at the steps: what a limit leaves is always the same
    varies: float = 1.2  # and what it cuts is not

    stage = "wiring"
    needs = (Need("step", points=5),)
    isolates = "clipping leaves the usual gradient alone"
    causes = ("gradients-clipped-away",)

    def judge(self, evidence, run):
        yield from self._by_hand(evidence, run)
        for where, column in evidence.by_subject("clip", run).items():
            rows = [o for o in column if o.value["before"] > 0 and o.value["scale"] == 1.0]
            cut = [o for o in rows if o.value["after"] < self.left * o.value["before"]]
            if len(cut) < self.clips or len(cut) < self.share * len(column) or learned(evidence, run):
                continue
            before, limit = median(o.value["before"] for o in cut), cut[0].value["limit"]
            yield self.suspect(
                "gradients-clipped-away", step=cut[0].step, location=where,
                measured=f"median norm {before:.3g} cut to {limit:.3g} in {len(cut)} of {len(column)} clips",
                expected=f"a limit near the usual norm, {before:.2g}",
                message=f"Clipping with the limit {limit:g} leaves a fiftieth or less of the usual gradient norm, so next to "
                        "nothing of each step is left.",
                remedies=(f"raise the limit to about {before:.2g} ({where})",),
                explains=("flat-from-start", "plateau-high", "update-tiny"))

    def _by_hand(self, evidence, run):
        """Cut without torch's functions: at every step the same small norm is left of one that varies. A division by a count varies along."""
        for name, column in evidence.by_subject("step", run).items():
            rows = [o for o in column if not o.value["clipped"] and not o.value["unscaled"] and o.value["scale"] == 1.0 and o.value["norm"] > 0]
            cut = [o for o in rows if o.value["norm"] < self.left * o.value["after_backward"] < float("inf")]
            if len(cut) < self.clips or len(cut) < self.share * len(column) or learned(evidence, run):
                continue
            norms, before = [o.value["norm"] for o in cut], [o.value["after_backward"] for o in cut]
            if max(norms) > self.even * min(norms) or max(before) < self.varies * min(before):
                continue
            yield self.suspect(
                "gradients-clipped-away", subject=name, step=cut[0].step, location=cut[0].value["place"],
                measured=f"norm {median(before):.3g} behind backward, {median(norms):.3g} at each of {len(cut)} of {len(column)} steps",
                expected=f"about {median(before):.2g} at the step",
                message=f"Between backward and step the gradients are cut to a norm of {median(norms):.3g}, a fiftieth or less of what they were.",
                remedies=(f"raise the limit to about {median(before):.2g}",), asks={"norm": median(norms)},
                explains=("flat-from-start", "plateau-high", "update-tiny"))
