"""Clipping acts on scaled gradients."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need


@dataclass(frozen=True)
class ClipBeforeUnscale(Check):
    """Clipping acts on gradients that still carry the loss scale.

    Sees      the loss scale at each clip, norms before and after it, and the norm that the step then uses.
    Expects   unscale, then clip: the norm at the step is the norm the clip left.
    Means     the limit meets a norm thousands of times too large; after unscaling nothing is left.
    Not for   a limit that is never reached, an unscale_ before the clip, clips that cut nothing.
    Source    PyTorch, automatic mixed precision examples, "Gradient clipping".
    """

    clips: int = 3
    factor: float = 16.0     # a scale made by hand: the norm falls by a constant factor between clip and step
    constant: float = 0.02   # spread of that factor

    stage = "wiring"
    needs = (Need("clip", points=3),)
    isolates = "clipping sees the true gradient"
    causes = ("clip-before-unscale",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("clip", run).items():
            rows = [o for o in column if o.value["scale"] > 1 and o.value["after"] < 0.99 * o.value["before"]]
            if len(rows) >= self.clips and 2 * len(rows) >= len(column):
                yield self._prove(evidence, run, where, rows, [o.value["scale"] for o in rows])
                continue
            scaled, factors = self._by_hand(evidence, run, column)
            if len(factors) >= self.clips and 2 * len(factors) >= len(column):
                middle = median(factors)
                if middle >= self.factor and max(abs(f / middle - 1) for f in factors) <= self.constant:
                    yield self._prove(evidence, run, where, scaled, factors)

    def _by_hand(self, evidence, run, column):
        """Clips that cut, and the factor by which the norm falls until the step of the same iteration."""
        steps = {o.step: o.value["norm"] for c in evidence.by_subject("step", run).values()
                 for o in c if o.value["clipped"]}
        rows = [o for o in column if o.value["scale"] == 1 and o.value["after"] < 0.99 * o.value["before"]
                and steps.get(o.step)]
        return rows, [o.value["after"] / steps[o.step] for o in rows]

    def _prove(self, evidence, run, where, rows, factors):
        before, limit, factor = median(o.value["before"] for o in rows), rows[0].value["limit"], median(factors)
        return self.prove(
            "clip-before-unscale", subject=next(iter(evidence.by_subject("step", run)), None), step=rows[0].step,
            location=where,
            measured=f"norm {before:.3g} at the clip, {before / factor:.3g} without the loss scale of "
                     f"{factor:g}; limit "
                     f"{limit:g}, so the step gets {limit / factor:.2g}",
            expected=f"unscale first: {min(limit, before / factor):.3g} at the step",
            message="Gradients are clipped while they are still multiplied by the loss scale; after unscaling next to "
                    "nothing is left of them.",
            remedies=(f"call scaler.unscale_(optimizer) (or divide by the scale) before the clip ({where})",),
            explains=("flat-from-start", "plateau-high", "update-tiny"))
