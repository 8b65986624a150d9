"""Check: a model too small for its task."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class Underfitting(Check):
    """Training stops high, and the model has a bottleneck or is small.

    Sees      widths of the weight matrices in order, how far the training came.
    Expects   hidden layers wider than a few units.
    Means     a suspicion: nothing else is wrong, the model cannot hold what separates the samples. A wider copy decides.
    Not for   trainings that come far, autoencoders and low-rank adapters, losses with a high floor (noise).
    Source    Goodfellow et al. 2016, section 5.2; own measurements: the wider copy must win by the same recipe.
    """

    narrow: int = 4
    far: float = 0.6     # share of the way to the floor

    stage = "generalisation"
    needs = (Need("parameter"), Need("learned"))
    isolates = "the model is large enough"
    causes = ("underfitting",)

    def judge(self, evidence, run):
        progress = evidence.fact("learned", run=run)
        if progress["share"] >= self.far or not math.isfinite(progress["share"]) or evidence.series("loss", run=run).first_non_finite() is not None:
            return
        widths = {name: column.values[-1]["shape"] for name, column in evidence.by_subject("parameter", run).items()
                  if len(column.values[-1]["shape"]) == 2 and column.values[-1]["kind"] == "Linear"}
        taken = {shape[1] for column in evidence.by_subject("parameter", run).values() if len(shape := column.values[-1]["shape"]) >= 2}
        # a head is no bottleneck: nothing takes in what it gives. Parameters come in the order in which they were seen, so it need not be the last
        hidden = [(name, shape) for name, shape in list(widths.items())[:-1] if shape[0] in taken]
        if not hidden:
            return
        name, shape = min(hidden, key=lambda item: item[1][0])
        if shape[0] > self.narrow or shape[0] >= shape[1] or shape[0] >= list(widths.values())[-1][0]:
            return
        yield self.suspect("underfitting", subject=name.rsplit(".", 1)[0], step=0, explains=("plateau-high", "flat-at-baseline", "underfitting"),
                           measured=f"{name} has {shape[0]} unit{'s' if shape[0] > 1 else ''} between {shape[1]} inputs and what follows; "
                                    f"{progress['share']:.0%} of the way was learned",
                           expected="a layer at least as wide as the output",
                           message=f"Everything has to pass through the {shape[0]} units of {name}: that is too narrow.",
                           remedies=("widen this layer",))
