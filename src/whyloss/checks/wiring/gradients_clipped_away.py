"""Clipping leaves next to nothing."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned


@dataclass(frozen=True)
class GradientsClippedAway(Check):
    """Clipping leaves next to nothing of the gradient at nearly every step.

    Sees      the gradient norm before and after each clip, and the limit.
    Expects   clipping that cuts the rare large step.
    Means     the limit is far below the usual norm (1e-3 meant as a rate, a norm over millions of weights).
    Not for   gradients still multiplied by a loss scale, Adam (which undoes a constant factor) in a run that learns.
    Source    Pascanu et al. 2013: a threshold near the average norm; here a fiftieth of it raises the suspicion.
    """

    left: float = 0.02   # norm after over norm before; the experiment decides
    share: float = 0.9   # of the clips
    clips: int = 5

    stage = "wiring"
    needs = (Need("clip", points=5),)
    isolates = "clipping leaves the usual gradient alone"
    causes = ("gradients-clipped-away",)

    def judge(self, evidence, run):
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
