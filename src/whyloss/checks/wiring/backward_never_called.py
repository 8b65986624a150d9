"""No gradient is ever asked for."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, optimizers, total


@dataclass(frozen=True)
class BackwardNeverCalled(Check):
    """The loop steps or clears, and no gradient is ever asked for.

    Sees      calls of backward, autograd.grad, step and zero_grad; how many parameters had a .grad at each step.
    Expects   a backward pass before each optimizer step.
    Means     .grad stays None, the optimizer skips every parameter without a word, nothing is learned.
    Not for   gradients written by hand into .grad, autograd.grad, programs that only predict.
    Source    torch.optim: parameters whose gradient is None are skipped.
    """

    steps: int = 3  # optimizer steps (or clears) before it is called a training

    stage = "wiring"
    needs = (Need("totals"),)
    isolates = "gradients are computed"
    causes = ("backward-never-called",)

    def judge(self, evidence, run):
        steps, clears = calls(evidence, "step", run), calls(evidence, "zero", run)
        asked = total(evidence, "backward", run) or calls(evidence, "autograd.grad", run)
        by_hand = any(row["with_gradient"] for column in evidence.by_subject("step", run).values()
                      for row in column.values)
        if asked or by_hand or max(steps.total(), clears.total()) < self.steps:
            return
        where = busiest(steps) or busiest(clears)
        yield self.prove(
            "backward-never-called", subject=next(iter(optimizers(evidence, run)), None), step=0, location=where,
            measured=f"0 backward passes, {steps.total()} optimizer steps",
            expected="one backward pass before each step",
            message="The loss is computed, but backward() is never called: every gradient is None and the optimizer "
                    "skips all parameters.",
            remedies=(f"call loss.backward() before optimizer.step() ({where})",),
            explains=("flat-from-start", "parameters-unchanged", "gradient-none"))
