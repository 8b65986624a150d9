"""Check: gradients that grow by decades towards the first layers, or through time."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.gradients.vanishing_gradients import by_hand, matrices, recurrences


@dataclass(frozen=True)
class ExplodingGradients(Check):
    """The gradient grows by decades over the depth or through time, before any step has been taken.

    Sees      gradient norm of each weight matrix at the first traced step, the size of recurrent matrices, the spread of the first output.
    Expects   less than four decades between the layers, a recurrent matrix that does not multiply.
    Means     each layer or time step multiplies by a factor above 1; steps are huge, the loss jumps or turns NaN.
    Not for   a large norm alone (it scales with loss units, batch and width); a rate that is too high; a single spike.
    Source    Pascanu et al. 2013; own measurements: no absolute limits, the ratio within the run.
    """

    decades: float = 4.0
    growth: float = 1e3     # of the hidden state over all time steps
    soon: int = 2           # optimizer steps before the first NaN
    spread: float = 10.0    # of the first outputs over that of the targets

    stage = "gradients"
    needs = (Need("parameter"), Need("grad_norm"), Need("loss"))
    isolates = "the gradient stays in range on its way back"
    causes = ("exploding-gradients",)

    def judge(self, evidence, run):
        norms = [c.values[0] for c in evidence.by_subject("grad_norm_total", run).values()]
        first = norms[0] if norms else math.nan
        for weight, kind, size, steps in recurrences(evidence, run):
            if kind == "RNN" and steps * math.log10(max(size, 1e-9)) > math.log10(self.growth) and self._far_off(evidence, run):
                yield self._said(weight,
                                 f"{size:.3g}^{steps} = {size ** min(steps, 500):.1e} over {steps} time steps; first gradient norm {first:.3g}",
                                 "a recurrent matrix of size 1 (orthogonal or identity)",
                                 f"{weight} multiplies the state by about {size:.3g} at each of {steps} time steps, and the gradient on its way "
                                 f"back.", **by_hand(evidence, run, weight))
        rows = [(name, norm) for name, norm in matrices(evidence, run) if norm > 0]
        if len(rows) < 4 or (evidence.fact("learned", run=run) or {}).get("learned"):
            return
        grown = math.log10(rows[0][1] / rows[-1][1])
        if grown >= self.decades:
            yield self._said(rows[0][0], f"gradient {rows[-1][1]:.2g} at {rows[-1][0]}, {rows[0][1]:.2g} at {rows[0][0]}",
                             f"less than {self.decades:g} decades",
                             f"Over {len(rows)} layers the gradient grows by {grown:.1f} decades towards the input.")

    def _said(self, subject, measured, expected, message, **more):
        return self.suspect("exploding-gradients", subject=subject, step=0, measured=measured, expected=expected, message=message, **more,
                            explains=("diverged", "non-finite", "spiky", "plateau-high"),
                            remedies=("start recurrent matrices orthogonal or as identity: nn.init.orthogonal_(w)",
                                      "clip the gradient norm near its usual value"))

    def _far_off(self, evidence, run) -> bool:
        bad = evidence.series("loss", run=run).first_non_finite()
        if bad is not None and bad <= self.soon:
            return True
        calls = [c.values[0] for c in evidence.by_subject("loss_call", run).values()]
        return any(call["std"] > self.spread * (call["target_std"] if call.get("target_dtype", "").startswith("float")
                                                and call.get("target_std") else 1.0)
                   for call in calls)
