"""Gradients arrive, no optimizer applies them."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, moved, optimizers, parameters, total


@dataclass(frozen=True)
class StepNeverCalled(Check):
    """Gradients arrive and the optimizer never steps.

    Sees      calls of backward, step and of the scheduler; whether any parameter's values changed.
    Expects   an optimizer step after the backward passes.
    Means     step() is missing, in a branch that is never taken, or the scheduler's step() stands in its place.
    Not for   updates by hand (values change), a GradScaler that skips steps because of infinite gradients.
    Source    torch.optim, "Taking an optimization step"; values are compared, not version counters.
    """

    backwards: int = 3  # so many backward passes without a step

    stage = "wiring"
    needs = (Need("totals"), Need("parameter"))
    isolates = "the optimizer is asked to step"
    causes = ("step-never-called",)

    def judge(self, evidence, run):
        if total(evidence, "backward", run) < self.backwards:
            return
        still = [name for name, row in parameters(evidence, run)
                 if row["reached"] and row["requires_grad"] and not moved(evidence, name, row, run)]
        reached = [name for name, row in parameters(evidence, run) if row["reached"] and row["requires_grad"]]
        made = optimizers(evidence, run)
        idle = {name: facts for name, facts in made.items() if not facts.get("stepped")}
        if not total(evidence, "optimizer_steps", run):
            by_hand = calls(evidence, "read_grad", run) and not made  # an update is written, it does not land
            if still and len(still) == len(reached) and not by_hand and not self._skipped(evidence, run):
                yield self._prove(evidence, run, next(iter(made), "optimizer"), still)
        for name, facts in idle.items() if total(evidence, "optimizer_steps", run) else ():
            held = [p for p, row in parameters(evidence, run) if p in still and row["held"]]
            if held and len(held) == facts["held"]:
                yield self._prove(evidence, run, name, held)

    def _skipped(self, evidence, run) -> bool:
        """A scaler that met only infinite gradients skips every step: a matter of numerics."""
        norms = [v for column in evidence.by_subject("grad_norm_total", run).values() for v in column.finite().values]
        return bool(calls(evidence, "unscale", run)) and not norms

    def _prove(self, evidence, run, optimizer, still):
        schedule, backward = calls(evidence, "schedule", run), calls(evidence, "backward", run)
        instead = next((p for p, count in schedule.most_common() if count >= self.backwards), None)
        where = instead or busiest(backward)
        done = "" if not instead else f", {schedule[instead]} scheduler steps"
        return self.prove(
            "step-never-called", subject=optimizer, step=0, location=where,
            measured=f"{backward.total()} backward passes, 0 steps of {optimizer}{done}; no weight moved (max "
                     "|dw| = 0)",
            expected="one optimizer step after the backward passes of each batch",
            message="The scheduler steps in the place where the optimizer should: the learning rate changes, the "
                    "weights do not." if instead else
                    "Gradients arrive, but the optimizer never steps: the weights stay as they were initialised.",
            remedies=(f"call optimizer.step() {'before scheduler.step()' if instead else 'after loss.backward()'} "
                      f"({where})",),
            explains=("flat-from-start", "parameters-unchanged"))
