"""Check: starting weights so large that the first forward pass explodes or saturates."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need

PLAIN = ("Linear", "Conv", "RNN", "GRU", "LSTM", "Bilinear", "MultiheadAttention", "NonDynamicallyQuantizableLinear")


def scale_ratios(evidence, run) -> dict[str, float]:
    """Root mean square of each starting matrix over He's sqrt(2 / fan_in); PyTorch's default gives 0.41. Embeddings and zeros left out."""
    ratios = {}
    for name, column in evidence.by_subject("parameter", run).items():
        fact = column.values[-1]
        start = fact.get("initial") or {}
        if len(fact["shape"]) >= 2 and fact["kind"].startswith(PLAIN) and not start.get("zero", True) and start.get("fan_in", 0) > 1:
            ratios[name] = start["norm"] / math.sqrt(math.prod(fact["shape"])) / math.sqrt(2 / start["fan_in"])
    return ratios


@dataclass(frozen=True)
class WeightsTooLarge(Check):
    """The starting weights are several times the fan-in rule, and the first forward pass shows it.

    Sees      size of each matrix before step 0 against sqrt(2 / fan_in); first loss, spread of the first output, saturated share at step 0.
    Expects   matrices within a factor of 2.5 of He's rule; first outputs of order 1.
    Means     each layer multiplies the signal: logits of hundreds, or tanh and sigmoid units in their flat part.
    Not for   embeddings, a loaded checkpoint that starts well, He initialisation (the first loss lies 1.5 above log C and training goes well).
    Source    He et al. 2015; Glorot and Bengio 2010; own measurements: a suspicion, a fresh initialisation decides.
    """

    ratio: float = 2.5        # times He's standard deviation
    first: float = 5.0        # first loss over chance, nats, to call the output far off
    saturated: float = 0.5
    well: float = 0.9         # a training that comes so far is not held back by saturated units

    stage = "initialisation"
    needs = (Need("parameter"), Need("loss"))
    isolates = "the first forward pass stays in range"
    causes = ("initial-weights-too-large",)

    def judge(self, evidence, run):
        ratios = scale_ratios(evidence, run)
        large = {name: r for name, r in ratios.items() if r > self.ratio}
        if not large or len(large) < 0.5 * len(ratios):
            return
        shown = self._shown(evidence, run)
        if shown is None:
            return
        worst = max(large, key=large.get)
        yield self.suspect("initial-weights-too-large", subject=worst, step=0, explains=("flat-from-start", "plateau-high", "diverged", "spiky"),
                           measured=f"{len(large)} of {len(ratios)} matrices exceed {self.ratio:g} x sqrt(2/fan_in), {worst} by {large[worst]:.1f} "
                                    f"x; {shown}",
                           expected="about 1 x sqrt(2/fan_in) for ReLU, less for tanh and sigmoid",
                           message=f"{worst} starts {large[worst]:.1f} times too large for its fan-in, and so do its neighbours: {shown}.",
                           remedies=("nn.init.kaiming_normal_ for ReLU, xavier_uniform_ for tanh and sigmoid", "leave PyTorch's default in place"))

    def _shown(self, evidence, run):
        first, chance = evidence.series("loss", run=run).first.value, evidence.fact("chance", run=run)
        for column in evidence.by_subject("loss_call", run).values():
            call = column.values[0]
            target = call.get("target_std") or 1.0
            if chance is not None and first > chance + self.first and call["std"] > 5:
                return f"the first loss is {first:.4g} where guessing gives {chance:.2f}"
            if chance is None and call["function"] in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss") and call["std"] > 10 * target:
                return f"the first outputs spread over {call['std']:.3g}, the targets over {target:.3g}"
        tails = {s: c.at(0) for s, c in evidence.by_subject("saturated_share", run).items() if c.at(0) is not None}
        full = [s for s, share in tails.items() if share > self.saturated]
        if full and len(full) >= 0.5 * len(tails) and (evidence.fact("learned", run=run) or {}).get("share", 0.0) < self.well:
            return f"{len(full)} of {len(tails)} activations have more than {self.saturated:.0%} of their units in the flat part at step 0"
        return None
