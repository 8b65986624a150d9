"""Check: the gradients of several micro-batches are added up where they should be averaged."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, stepping


@dataclass(frozen=True)
class AccumulationNotNormalised(Check):
    """Several backward passes of one loss precede each step, and the loss is not divided by their number.

    Sees      how often backward() runs at one place for each step of the only optimizer; the symptom.
    Expects   each loss divided by the number of accumulated micro-batches.
    Means     a step as long as k steps; confirmed only if the same calls, each loss divided by k, end clearly lower.
    Not for   a training that was seen to learn; losses that are divided already; different losses, each with its own backward.
    Source    PyTorch, automatic mixed precision examples: gradient accumulation.
    """

    least: float = 1.8  # backward passes a step

    stage = "learning-rate"
    needs = Need("symptoms"), Need("learning_rate")
    isolates = "the step is that of one batch, or of the mean over several"
    causes = ("accumulation-not-normalised",)

    def judge(self, evidence, run):
        active, passes, steps = stepping(evidence, run), calls(evidence, "backward", run), calls(evidence, "step", run).total()
        place = busiest(passes)
        if len(active) != 1 or place is None or steps < 1 or passes[place] < self.least * steps:
            return
        count = passes[place] / steps
        made = [row.get("factor") for column in evidence.by_subject("loss_made", run).values() for row in column.values]
        if made and all(factor is not None and abs(factor) < 1.5 / count for factor in made):
            return  # loss / k is what backward() is called on
        yield self.suspect(
            "accumulation-not-normalised", subject=next(iter(active)), step=0, location=place,
            measured=f"{passes[place]} backward passes here for {steps} optimizer steps: about {count:.3g} a step",
            expected=f"each loss divided by {round(count)}",
            message=f"The gradients of about {round(count)} micro-batches are added up and not averaged, so each step is as many times longer.",
            remedies=(f"divide the loss by {round(count)} before backward() ({place})",),
            explains=("diverged", "spiky", "oscillating", "plateau-high"))
