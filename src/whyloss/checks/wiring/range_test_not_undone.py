"""Check: a training that goes on from the weights that a learning-rate range test left."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need


@dataclass(frozen=True)
class RangeTestNotUndone(Check):
    """The learning rate is swept up over decades, then the training goes on with what the largest rates made of the weights.

    Sees      the learning rate of every step, the loss before, in and after the sweep, the norms of the weights at both ends of it.
    Expects   the weights of before the sweep, once it is over.
    Means     weights, moving averages and optimizer state carry the last, diverged steps of the sweep: the training begins from a ruin.
    Not for   warm-ups and cyclic schedules (they fall back slowly, or by less than ten), sweeps on a copy, restored weights, a training that
              got far below where it began all the same.
    Source    Smith 2017, arXiv 1506.01186: the range test is a run of its own; three decades and a fall by ten are a choice.
    """

    steps: int = 15        # of an unbroken rise
    decades: float = 1e3   # times the first rate of the rise
    fall: float = 10.0     # the rate after the sweep is at most that part of the top
    moved: float = 0.1     # change of a weight matrix's norm from which it was not restored
    ruined: float = 2.0    # times the loss of before the sweep
    recovered: float = 0.1  # a training that ends below that share of it had no harm

    stage = "wiring"
    needs = (Need("learning_rate", points=40), Need("weight_norm", points=3), Need("loss", points=20))
    isolates = "no learning-rate sweep is left in the weights"
    causes = ("learning-rate-too-high",)

    def judge(self, evidence, run):
        columns = {s: c for s, c in evidence.by_subject("loss", run).items() if s != "run"} or evidence.by_subject("loss", run)
        losses = {step: (value, place) for place, c in columns.items() for step, value in zip(c.steps, c.values)}
        for subject, column in evidence.by_subject("learning_rate", run).items():
            found = self._sweep(column.steps, column.values)
            if found is None:
                continue
            first, top, after = found
            change = self._change(evidence, run, first, after)
            before = self._level(losses, [s for s in losses if first <= s], 10)
            start = self._level(losses, [s for s in losses if s >= after], 5)
            later = sorted(s for s in losses if s >= after)
            end = self._level(losses, later[-max(3, len(later) // 8):], len(later))
            if None in (change, before, start, end) or change < self.moved or start < self.ruined * abs(before) or end < self.recovered * before:
                continue
            rates = dict(zip(column.steps, column.values))
            yield self.prove("learning-rate-too-high", subject=subject, step=top, location=losses.get(top, (None, None))[1],
                             explains=("plateau-high", "diverged", "flat-at-baseline", "oscillating"), asks={"always": True},
                             measured=f"the rate rises from {rates[first]:.2g} to {rates[top]:.2g} in steps {first} to {top}; the loss is "
                                      f"{before:.4g} before and {start:.4g} after, when training goes on at {rates[after]:.2g}; norms of the "
                                      f"weights changed by {change:.0%}",
                             expected="the weights and the optimizer state of before the sweep",
                             message="The training goes on from the weights that the range test's largest rates left; it does not begin where the "
                                     "test began.",
                             remedies=("save model.state_dict() and optimizer.state_dict() before the range test and load both after it",
                                       "sweep a deep copy of the model with an optimizer of its own"))
            return

    def _sweep(self, steps, values) -> tuple[int, int, int] | None:
        """(first step, step of the largest rate, first step after it) of a rise over decades that ends in a fall."""
        begin = 0
        for at in range(1, len(values)):
            if values[at] > values[at - 1]:
                continue
            low, high = values[begin], values[at - 1]
            if at - begin >= self.steps and 0 < low and high >= self.decades * low and values[at] <= high / self.fall and len(values) - at >= 10:
                return steps[begin], steps[at - 1], steps[at]
            begin = at
        return None

    @staticmethod
    def _change(evidence, run, first: int, after: int) -> float | None:
        """Median relative change of the weights' norms from the first step of the sweep to the first traced one after it."""
        changes = []
        for column in evidence.by_subject("weight_norm", run).values():
            old = next((v for s, v in zip(column.steps, column.values) if s >= first), None)
            new = next((v for s, v in zip(column.steps, column.values) if s >= after), None)
            if old and new is not None and np.isfinite(new):
                changes.append(abs(new - old) / old)
        return float(np.median(changes)) if changes else None

    @staticmethod
    def _level(losses, steps, count: int) -> float | None:
        values = [losses[s][0] for s in sorted(steps)[:count]]
        values = [v for v in values if isinstance(v, (int, float)) and np.isfinite(v)]
        return float(np.median(values)) if values else None
