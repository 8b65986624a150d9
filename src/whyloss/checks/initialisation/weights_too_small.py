"""Check: starting weights so small that the signal dies on its way."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.initialisation.weights_too_large import scale_ratios


@dataclass(frozen=True)
class WeightsTooSmall(Check):
    """The starting weights are far below the fan-in rule, and the signal dies with depth.

    Sees      size of each matrix before step 0 against sqrt(2 / fan_in); the spread over samples of each layer's output at step 0.
    Expects   a signal that keeps its order of magnitude.
    Means     each layer multiplies the signal by a small factor, so the last ones see the same for every sample.
    Not for   PyTorch's default (0.41 of He's rule), small heads on purpose, zero matrices, nets that normalise each layer.
    Source    He et al. 2015; Schoenholz et al. 2017; the spread over samples, not over the tensor: own measurements.
    """

    ratio: float = 0.15       # times He's standard deviation
    fall: float = 1e-3        # last signal over first

    stage = "initialisation"
    needs = (Need("parameter"), Need("signal", at=0))
    isolates = "the signal reaches the output at step 0"
    causes = ("initial-weights-too-small",)

    def judge(self, evidence, run):
        ratios = scale_ratios(evidence, run)
        small = {name: r for name, r in ratios.items() if r < self.ratio}
        if len(small) < 2 or len(small) < 0.5 * len(ratios):
            return
        signal = {s: c.at(0) for s, c in evidence.by_subject("signal", run).items() if c.at(0) is not None}
        names, values = list(signal), list(signal.values())
        if len(values) < 2 or max(values) <= 0 or values[-1] / max(values) > self.fall:
            return
        worst = min(small, key=small.get)
        yield self.suspect("initial-weights-too-small", subject=worst, step=0, explains=("flat-from-start", "flat-at-baseline"),
                           measured=f"signal {max(values):.2g} falls to {values[-1]:.2g} at {names[-1]}; "
                                    f"{len(small)} of {len(ratios)} matrices below {self.ratio:g} x sqrt(2/fan_in), {worst} at {small[worst]:.2g} x",
                           expected="a signal of the same order in every layer",
                           message=f"The weights start at {small[worst]:.1%} of the usual size, so nothing of the input arrives at {names[-1]}.",
                           remedies=("nn.init.kaiming_normal_(w, nonlinearity='relu')", "leave PyTorch's default in place",
                                     "add normalisation layers"))
