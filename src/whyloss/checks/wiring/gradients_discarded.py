"""Gradients are cleared before the step that should use them."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, learned, total


@dataclass(frozen=True)
class GradientsDiscarded(Check):
    """Gradients are cleared after backward and before the step.

    Sees      for each step: gradient norm after backward, norm at the step, and the line that cleared in between.
    Expects   what backward computed is what the step uses.
    Means     zero_grad() stands between backward() and step(), or in the micro-batch loop of an accumulation.
    Not for   a GAN (another optimizer's gradients are cleared), a step inside a backward hook, steps that a scaler
              skips.
    Source    torch.optim: order of zero_grad, backward and step.
    """

    steps: int = 3
    share: float = 0.5  # of the steps

    stage = "wiring"
    needs = (Need("step", points=3),)
    isolates = "what backward computed is what the step uses"
    causes = ("gradients-discarded",)

    def judge(self, evidence, run):
        found = False
        for optimizer, column in evidence.by_subject("step", run).items():
            empty = [o for o in column
                     if o.value["discarded"] and o.value["after_backward"] > 0 and not o.value["norm"]]
            if len(empty) >= self.steps and len(empty) >= self.share * len(column):
                found = True
                yield self._prove(optimizer, column, empty)
        if not found:
            yield from self._micro_batches(evidence, run)

    def _prove(self, optimizer, column, empty):
        first = empty[0]
        where = first.value["cleared_unused"]
        return self.prove(
            "gradients-discarded", subject=optimizer, step=first.step, location=where,
            measured=f"gradient norm {first.value['after_backward']:.3g} after backward, 0 at the step; "
                     f"{len(empty)} of {len(column)} steps", expected="the same norm at the step",
            message=f"The gradients are cleared at {where}, after backward() and before step(): the step finds "
                    "nothing to apply.",
            remedies=(f"move zero_grad() ({where}) in front of backward(), or behind step()",),
            explains=("flat-from-start", "parameters-unchanged"))

    def _micro_batches(self, evidence, run):
        """One step for several backwards, each of which was cleared before the next: only the last one counts."""
        backward, zero = calls(evidence, "backward", run), calls(evidence, "zero", run)
        steps = total(evidence, "optimizer_steps", run)
        if len(backward) != 1 or total(evidence, "optimizers", run) != 1 or calls(evidence, "unscale", run):
            return
        if steps < self.steps or backward.total() < 2 * steps or zero.total() < 0.9 * backward.total():
            return
        where = busiest(zero)
        say = self.note if learned(evidence, run) else self.suspect
        yield say("gradients-discarded", step=0, location=where,
                  measured=f"{backward.total()} backward passes, {zero.total()} clears, {steps} steps",
                  expected="one clear for each step",
                  message="Gradients are cleared after every micro-batch, so a step uses the last one only.",
                  remedies=(f"clear once per step, not per micro-batch ({where})",), explains=("plateau-high",))
