"""The schedule ends long before the training."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned


@dataclass(frozen=True)
class SchedulerCollapsesLearningRate(Check):
    """The learning rate falls to nothing while most of the run is still to come.

    Sees      the learning rate of each group at each step, the lines that step a scheduler.
    Expects   a rate above a thousandth of its peak until late in the run.
    Means     a schedule written in epochs is stepped per batch, or its total number of steps is wrong.
    Not for   decay to 0 at the end of the run (cosine, linear, one-cycle), warm restarts, a run that has converged.
    Source    torch.optim.lr_scheduler, "How to adjust learning rate"; 1e-3 of the peak, half of the run.
    """

    collapsed: float = 1e-3   # of the highest rate
    remaining: float = 0.5    # share of the run after the collapse
    satisfied: float = 0.9    # share of the way to the floor from which nothing is missed

    stage = "wiring"
    needs = (Need("learning_rate", points=20), Need("schedule"))
    isolates = "the schedule lasts as long as the training"
    causes = ("scheduler-collapses-learning-rate",)

    def judge(self, evidence, run):
        for group, column in evidence.by_subject("learning_rate", run).items():
            peak, rates = max(column.values), column.values
            if peak <= 0 or len(rates) < 20:
                continue
            above = max(at for at, rate in enumerate(rates) if rate >= self.collapsed * peak) + 1
            if len(rates) - above < self.remaining * len(rates) or learned(evidence, run, self.satisfied):
                continue
            where, steps = max(evidence.by_subject("schedule", run).items(), key=lambda item: len(item[1]))
            kind = steps.last.value["kind"]
            yield self.suspect(
                "scheduler-collapses-learning-rate", subject=kind, step=column.steps[above], location=where,
                measured=f"learning rate of {group} {peak:.3g} at its peak, {rates[above]:.3g} at step "
                         f"{column.steps[above]} of {len(rates)}; {kind} stepped {len(steps)} times",
                expected=f"above {self.collapsed:g} of its peak until late in the run",
                message=f"{kind} has driven the learning rate to next to nothing after {above} of {len(rates)} steps; "
                        "the rest of the run cannot learn.",
                remedies=(f"step {kind} once per epoch, or give it its period in batches ({where})",),
                explains=("plateau-high", "flat-at-baseline", "still-improving"))
            return
