"""Gradients are cleared before the step that should use them."""

from collections import Counter
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, total


@dataclass(frozen=True)
class GradientsDiscarded(Check):
    """Gradients are cleared after backward and before the step.

    Sees      for each step: gradient norm after backward, norm at the step, and the line that cleared in between; backward
              passes whose finite gradient was cleared, unread, since the last step.
    Expects   what backward computed is what the step uses.
    Means     zero_grad() stands between backward() and step(), or in the micro-batch loop of an accumulation.
    Not for   a GAN (another optimizer's gradients are cleared), a step inside a backward hook, steps that a scaler
              skips, a gradient that is read before it is cleared (per-sample clipping, sharpness-aware steps), a backward
              to the input (an attack), batches skipped now and then.
    Source    torch.optim: order of zero_grad, backward and step.
    """

    steps: int = 3
    share: float = 0.5  # of the steps
    regular: float = 0.8  # of the steps that lose micro-batches: a batch that is skipped now and then is meant
    first: int = 8  # steps, in which every reading of a gradient is heard
    open: float = 1.1

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
        columns = evidence.by_subject("step", run)
        if len(columns) != 1 or total(evidence, "optimizers", run) != 1:
            return
        (optimizer, column), = columns.items()
        if total(evidence, "optimizer_steps", run) > self.open * len(column):  # steps with a closure clear as they like
            return
        short = [o for o in column if o.value.get("lost") and o.value["used"] and o.value["lost"] >= o.value["used"]]
        early = sum(o in short for o in list(column)[:self.first])
        if len(short) < max(self.steps, self.regular * len(column)) or early < self.regular * min(self.first, len(column)):
            return
        where = busiest(Counter(o.value["lost_at"] or "?" for o in short))
        lost, used = (sum(o.value[kind] for o in short) for kind in ("lost", "used"))
        yield self.prove("gradients-discarded", subject=optimizer, step=short[0].step, location=where,
                         measured=f"{lost} of {lost + used} backward passes cleared before a step used them; {len(short)} of {len(column)} steps",
                         expected="one clear for each step",
                         message="Gradients are cleared after every micro-batch, so a step uses the last one only.",
                         remedies=(f"clear once per step, not per micro-batch ({where})",), explains=("plateau-high",))
