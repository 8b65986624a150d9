"""The scheduler steps before the optimizer, or never."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import calls, learned, optimizers, total


@dataclass(frozen=True)
class SchedulerMisordered(Check):
    """The scheduler steps before the optimizer does, or never while it holds the rate down.

    Sees      scheduler steps with the optimizer steps done before each; the rate asked for and the rate used.
    Expects   optimizer.step() first, scheduler.step() after it, in every iteration or epoch.
    Means     before: the first value of the schedule is skipped (a note); never: the warm-up keeps its first rate.
    Not for   the step that a scheduler makes when it is constructed, a first step skipped by a GradScaler.
    Source    torch.optim.lr_scheduler: scheduler.step() after optimizer.step().
    """

    held_down: float = 0.1  # rate used over rate asked for
    steps: int = 20         # optimizer steps without a scheduler step

    stage = "wiring"
    needs = (Need("schedule"), Need("learning_rate"))
    isolates = "the scheduler follows the optimizer"
    causes = ("scheduler-misordered",)

    def judge(self, evidence, run):
        places = evidence.by_subject("schedule", run)
        in_loop = {where: column for where, column in places.items() if column.last.value["steps_done"] > 0}
        if not in_loop:
            yield from self._never(evidence, run, places)
        for where, column in in_loop.items():
            if column.first.value["steps_done"] or calls(evidence, "unscale", run):
                continue
            kind = column.first.value["kind"]
            yield self.note(
                "scheduler-misordered", subject=kind, step=0, location=where,
                measured=f"{kind} stepped before the first optimizer step", expected="optimizer.step() first",
                message="The scheduler steps before the optimizer, so the first value of the schedule is skipped.",
                remedies=(f"move scheduler.step() behind optimizer.step() ({where})",))
            return

    def _never(self, evidence, run, places):
        done = total(evidence, "optimizer_steps", run)
        for optimizer, facts in optimizers(evidence, run).items():
            for group in facts.get("groups", ()):
                asked, used = group.get("initial_lr") or 0, group.get("lr") or 0
                if done < self.steps or not 0 < used <= self.held_down * asked or learned(evidence, run):
                    continue
                where, column = next(iter(places.items()))
                kind = column.first.value["kind"]
                yield self.suspect(
                    "scheduler-misordered", subject=kind, step=0, location=where,
                    measured=f"{done} optimizer steps, 0 scheduler steps; {optimizer} runs at {used:.3g} "
                             f"instead of {asked:.3g}",
                    expected="scheduler.step() in every iteration or epoch",
                    message=f"{kind} is created but never stepped, so the learning rate stays at the start of "
                            "the warm-up.",
                    remedies=("call scheduler.step() after optimizer.step()",), asks={"rate": asked},
                    explains=("flat-from-start",))
                return
