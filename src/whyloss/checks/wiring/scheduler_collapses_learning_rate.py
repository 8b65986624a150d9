"""The schedule ends long before the training."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned


@dataclass(frozen=True)
class SchedulerCollapsesLearningRate(Check):
    """The learning rate falls to nothing while most of the run is still to come.

    Sees      the learning rate of each group at each step, the lines that step a scheduler or write a group's rate, the loss.
    Expects   a rate above a thousandth of its peak until late in the run.
    Means     a schedule written in epochs is stepped per batch, or its total number of steps is wrong.
    Not for   decay to 0 at the end of the run (cosine, linear, one-cycle), warm restarts, a run that has converged: where most of the
              way was made, only a rate of nothing at all that fell while the loss was still falling, if the experiment halves the loss;
              rates written by hand that stop one part of the model only.
              A scheduler that has cut the rate to a twentieth before a tenth of the run is over is tried too, where the loss still falls.
    Source    torch.optim.lr_scheduler, "How to adjust learning rate"; 1e-3 of the peak, half of the run.
    """

    collapsed: float = 1e-3   # of the highest rate
    remaining: float = 0.5    # share of the run after the collapse
    satisfied: float = 0.9    # share of the way to the floor from which nothing is missed
    nothing: float = 1e-6     # of the highest rate: what is left moves no weight
    falling: float = 0.9      # of the loss a quarter earlier: it fell until the rate was gone
    cut: float = 0.05         # of the highest rate, where that comes early in the run
    late: float = 0.9         # share of the run after that
    half_way: float = 0.8     # share of the way to the floor, and then
    still: float = 0.95       # of the loss a quarter of the run earlier: it falls to the end

    stage = "wiring"
    needs = (Need("learning_rate", points=20),)
    isolates = "the schedule lasts as long as the training"
    causes = ("scheduler-collapses-learning-rate",)

    def judge(self, evidence, run):
        columns = evidence.by_subject("learning_rate", run)
        schedules = evidence.by_subject("schedule", run)
        if not schedules and not all(self._collapse(column) for column in columns.values()):
            return  # a part of the model that stops before the others may be meant to
        for group, column in columns.items():
            above = self._collapse(column)
            if (not above or self._satisfied(evidence, run, column, above)) and not (above := schedules and self._cut(evidence, run, column)):
                continue
            where, kind, said = evidence.fact("rate_written", run=run), "a schedule by hand", "no scheduler of torch"
            if schedules:
                where, steps = max(schedules.items(), key=lambda item: len(item[1]))
                kind = steps.last.value["kind"]
                said = f"{kind} stepped {len(steps)} times"
            peak = max(column.values)
            rest = max(column.values[above:]) / peak
            small = rest < self.collapsed
            yield self.suspect(
                "scheduler-collapses-learning-rate", subject=kind if schedules else group, step=column.steps[above], location=where,
                measured=f"learning rate of {group} {peak:.3g} at its peak, {column.values[above]:.3g} at step "
                         f"{column.steps[above]} of {len(column)}; {said}",
                expected=f"above {self.collapsed if small else self.cut:g} of its peak until late in the run",
                message=f"{kind} has driven the learning rate to {'next to nothing' if small else f'{rest:.2g} of its peak'} after {above} of "
                        f"{len(column)} steps; "
                        f"the rest of the run {'cannot learn' if small else 'learns at a crawl'}.",
                remedies=(f"step {kind} once per epoch, or give it its period in batches ({where})" if schedules else
                          "count the whole length of the schedule in steps of the optimizer, as it is advanced at each of them",),
                explains=("plateau-high", "flat-at-baseline", "still-improving"))
            return

    def _collapse(self, column) -> int:
        """The step from which on a group's rate is next to nothing, 0 where it is not for most of the run."""
        rates = column.values
        peak = max(rates)
        if peak <= 0 or len(rates) < 20:
            return 0
        above = max(at for at, rate in enumerate(rates) if rate >= self.collapsed * peak) + 1
        return above if len(rates) - above >= self.remaining * len(rates) else 0

    def _cut(self, evidence, run, column) -> int:
        """The step from which on a rate is far below its peak for nearly all of a run that goes on falling to its end; else 0."""
        rates, losses = column.values, evidence.series("loss", run=run).values
        peak = max(rates)
        if peak <= 0 or len(rates) < 40 or len(losses) != len(rates) or learned(evidence, run, self.half_way):
            return 0
        above = max(at for at, rate in enumerate(rates) if rate >= self.cut * peak) + 1
        quarter = len(losses) // 4
        falls = median(losses[-quarter:]) < self.still * median(losses[-2 * quarter:-quarter])
        return above if len(rates) - above >= self.late * len(rates) and falls else 0

    def _satisfied(self, evidence, run, column, above) -> bool:
        """Whether the training had what it needed before the rate was gone."""
        if not learned(evidence, run, self.satisfied):
            return False
        losses = evidence.series("loss", run=run).values
        if max(column.values[above:]) > self.nothing * max(column.values) or len(losses) != len(column) or above < 8:
            return True
        earlier, last = losses[above // 2:3 * above // 4], losses[3 * above // 4:above]
        return not median(last) < self.falling * median(earlier)
