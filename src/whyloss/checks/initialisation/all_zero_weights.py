"""Check: weights that start at zero and that no gradient can ever reach."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class AllZeroWeights(Check):
    """Several weight matrices start at zero, and their gradients are exactly zero at every step.

    Sees      the state of each tensor before step 0, the state of its gradient after each traced backward, whether it changed.
    Expects   at most one zero factor in a row: it gets a gradient at once, and the next one a step later.
    Means     two zero factors multiply each other's gradient by zero, for ever.
    Not for   LoRA's B, a zero head, residual gates, norm gains and biases: they move, or make others move, after the first step.
    Source    Goodfellow et al. 2016, section 8.4; own measurements: never judged at step 0 alone.
    """

    steps: int = 3     # traced backward passes with an exactly zero gradient
    matrices: int = 2  # zero factors that block each other

    stage = "initialisation"
    needs = (Need("parameter"), Need("grad_state", points=3))
    isolates = "some gradient leaves the starting point"
    causes = ("zero-initialisation",)

    def judge(self, evidence, run):
        stuck = []
        for name, column in evidence.by_subject("parameter", run).items():
            fact, states = column.values[-1], evidence.series("grad_state", name, run).values
            start = fact.get("initial") or {}
            if start.get("zero") and len(fact["shape"]) >= 2 and fact["requires_grad"] and not fact.get("changed", True) \
                    and len(states) >= self.steps and set(states) == {"zero"}:
                stuck.append(name)
        if len(stuck) < self.matrices:
            return
        total = len(evidence.series("grad_state", stuck[0], run))
        yield self.prove("zero-initialisation", subject=stuck[0], step=0, explains=("flat-from-start", "flat-at-baseline", "zero-gradients"),
                         measured=f"{len(stuck)} matrices are all zero ({', '.join(stuck[:4])}); gradient exactly 0 at {total} of {total} traced "
                                  f"steps",
                         expected="random weights, or a single zero factor in a row",
                         message=f"{stuck[0]} and {stuck[1]} start at zero and multiply each other's gradient by zero: they can never move.",
                         remedies=("draw the weights at random: nn.init.kaiming_normal_(w)",
                                   "in a low-rank adapter, start only one of the two factors at zero"))
