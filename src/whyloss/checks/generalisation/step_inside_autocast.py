"""Backward or step inside autocast."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import calls, total


@dataclass(frozen=True)
class StepInsideAutocast(Check):
    """The backward pass, or the optimizer's step, runs inside an autocast region.

    Sees      whether autocast is on at each backward pass and each step.
    Expects   the region around the forward pass and the loss only.
    Means     backward operations run in the type of their forward in any case; inside the region operations of hooks, custom functions and
              updates are cast once more, and lose precision.
    Not for   autocast(enabled=False), a single call of another phase, anything that another cause explains: it is looked at last.
    Source    torch.amp: "backward passes under autocast are not recommended". Follows from the calls.
    """

    share: float = 0.5   # of all calls

    stage = "generalisation"
    needs = (Need("calls", subject="backward"),)
    isolates = "autocast covers forward pass and loss only"
    causes = ("step-inside-autocast",)

    def judge(self, evidence, run):
        for kind, word, count in (("backward_in_autocast", "backward pass", "backward"), ("step_in_autocast", "optimizer step", "optimizer_steps")):
            places, every = calls(evidence, kind, run), total(evidence, count, run)
            inside = sum(places.values())
            if not inside or inside < self.share * every:
                continue
            steps = sum(calls(evidence, "step_in_autocast", run).values())
            yield self.prove(
                "step-inside-autocast", subject="autocast", step=0, location=places.most_common(1)[0][0],
                measured=f"{inside} of {every} calls of the {word} with autocast on"
                         + (f", {steps} optimizer steps too" if steps and word[0] == "b" else ""),
                expected="autocast around the forward pass and the loss",
                message=f"The {word} runs inside the autocast region.", remedies=("close the autocast block before backward()",))
            return
