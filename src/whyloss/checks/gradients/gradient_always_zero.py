"""Check: gradients that are exactly zero at every step, though the graph is connected."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class GradientAlwaysZero(Check):
    """A parameter's gradient is there and is exactly zero at every traced step.

    Sees      the state of each gradient after each traced backward; saturated and dead shares; number formats; the first weights.
    Expects   a gradient that is not zero by the second step at the latest.
    Means     a slope of exactly 0 on the way: saturated units or, in half precision, underflow. None (no gradient at all) is another matter.
    Not for   LoRA's A and gated branches at step 0, experts and embedding rows not used, dead ReLUs and zero matrices (checks of their own).
    Source    own measurements: an exact zero is not a detach; judged over at least 3 steps.
    """

    steps: int = 3

    stage = "gradients"
    needs = (Need("grad_state", points=3), Need("parameter"))
    isolates = "no slope on the way is exactly zero"
    causes = ("saturated-activations", "half-precision-underflow")

    def judge(self, evidence, run):
        if (evidence.fact("learned", run=run) or {}).get("learned") or evidence.has("step_function", run):
            return
        stuck = []
        for name, column in evidence.by_subject("parameter", run).items():
            fact, states = column.values[-1], evidence.series("grad_state", name, run).values
            if len(states) >= self.steps and set(states) == {"zero"} and fact["requires_grad"] and not (fact.get("initial") or {}).get("zero"):
                stuck.append(name)
        dead = any(c.values[-1] >= 0.95 for c in evidence.by_subject("dead_over_batches", run).values())
        if not stuck or dead:
            return
        said = {"subject": stuck[0], "step": 0, "explains": ("flat-from-start", "zero-gradients"), "expected": "a gradient that is not exactly 0",
                "measured": f"exactly 0 at {len(evidence.series('grad_state', stuck[0], run))} traced steps for {len(stuck)} parameters "
                            f"({', '.join(stuck[:3])})"}
        flat = [s for s, c in evidence.by_subject("saturated_share", run).items() if c.values[0] > 0.9]
        if evidence.fact("parameter", stuck[0], run)["dtype"] == "float16":
            yield self.suspect("half-precision-underflow", **said,
                               message=f"The gradient of {stuck[0]} is below the smallest float16 number, so it is 0.")
        elif flat:
            yield self.suspect("saturated-activations", **{**said, "location": evidence.fact("activation_place", flat[0], run)},
                               message=f"{flat[0]} is flat for nearly every input: its slope, and so the gradient of {stuck[0]}, is exactly 0.")
