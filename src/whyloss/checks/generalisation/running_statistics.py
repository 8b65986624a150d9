"""Running statistics of batch norm that are not those of the data."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class RunningStatistics(Check):
    """What batch norm uses in evaluation is not what it saw in training.

    Sees      running mean and variance at the end beside those of the last traced batches, in standard deviations; whether
              they ever moved; whether they moved although the layer is frozen; the variance against epsilon.
    Expects   running statistics near those of the batches; frozen layers whose statistics stay.
    Means     never moved, or moved while frozen: a fact. Far off: suspected, confirmed if statistics estimated again on
              the captured batches give a clearly lower loss in evaluation mode with the final weights.
    Not for   statistics of weights that still move fast, frozen layers in eval mode, layers that start fresh under frozen
              weights, layers evaluated with batch statistics on purpose (`track_running_stats=False`).
    Source    PyTorch documentation, BatchNorm: momentum; own measurements.
    """

    off: float = 0.5       # standard deviations, mean over the channels
    ratio: float = 0.7     # |log| of the ratio of variances: a factor of 2
    drift: float = 0.3     # standard deviations that a frozen layer's mean moved
    small: float = 3.0     # largest variance over epsilon
    scale: float = 0.02    # spread of the model's input that explains such variances
    calls: int = 3
    usual: tuple = (0.05, 0.5)   # momenta that follow the data; statistics that lag behind fast weights are no setting
    seen: float = 2.0            # momentum times training calls below which the start still weighs

    stage = "generalisation"
    needs = (Need("batch_norm"),)
    isolates = "evaluation normalises like training"
    causes = ("running-statistics-off",)

    def judge(self, evidence, run):
        rows = {name: column.values[-1] for name, column in evidence.by_subject("batch_norm", run).items()}
        rows = {name: row for name, row in rows.items() if row["tracked"] and row["trained"] >= self.calls}
        yield from self._never_moved(rows)
        yield from self._drifted(rows)
        yield from self._near_epsilon(evidence, run, rows)
        yield from self._far(rows, (evidence.fact("totals", run=run) or {}).get("backward", 0))

    def _never_moved(self, rows):
        still = [name for name, row in rows.items() if row["still"] and row["evaluated"] and not row["frozen"]]
        if still:
            row = rows[still[0]]
            yield self.prove("running-statistics-off", subject=still[0], step=0, location=row["place"],
                             measured=f"running mean 0 and variance 1 after training in {len(still)} of {len(rows)} layers, "
                                      f"momentum {row['momentum']:g}",
                             expected="statistics of the data; momentum 0.1",
                             message=f"{still[0]} never updates its running statistics, and evaluation uses them: they are still 0 and 1.",
                             remedies=("set momentum=0.1 (in PyTorch the weight of the new value)",), explains=("validation-worse",))

    def _drifted(self, rows):
        moved = {name: row for name, row in rows.items() if row["frozen"] and row.get("pretrained") and
                 max(row.get("drift", 0.0) / self.drift, row.get("drift_log", 0.0) / self.ratio) > 1}
        if moved:
            name, row = max(moved.items(), key=lambda item: item[1]["drift"])
            yield self.prove("running-statistics-off", subject=name, location=row["place"], explains=("validation-worse",),
                             measured=f"{len(moved)} batch norm layers with frozen weights; the running mean of {name} moved by {row['drift']:.2g} "
                                      f"standard deviations while it was frozen, its variance by a factor of {2.718 ** row['drift_log']:.2g}",
                             expected="statistics that stay with the weights they belong to",
                             message=f"The weights of {name} are frozen, its running statistics are not: in train mode they follow the new data.",
                             remedies=("put the frozen modules into eval() after every train() call",))

    def _near_epsilon(self, evidence, run, rows):
        batch = next((c.values[0] for c in evidence.by_subject("input", run).values()), None)
        if not rows or not batch or not batch["floating"] or not 0 < max(batch["std"], abs(batch["mean"])) < self.scale:
            return
        name, row = next(iter(rows.items()))
        if 0 < row.get("over_eps", self.small) < self.small:
            yield self.prove("running-statistics-off", subject=name, step=0, location=row["place"], explains=("validation-worse",),
                             measured=f"variances in {name} reach {row['over_eps']:.2g} x eps; the model's input has a standard deviation of "
                                      f"{batch['std']:.2g}",
                             expected="variances far above eps, inputs of order 1",
                             message=f"The inputs are so small that what {name} sees is no larger than its eps: batch norm hides a wrong "
                                     f"input scale.",
                             remedies=("scale the inputs once: look for a second division by 255",))

    def _unusual(self, row, calls):
        low, high = self.usual
        return row["momentum"] is not None and (not low <= row["momentum"] <= high or row["momentum"] * calls < self.seen)

    def _far(self, rows, calls):
        far = {name: row for name, row in rows.items() if row["evaluated"] and not row["still"] and not row["frozen"] and self._unusual(row, calls)
               and (row.get("off", 0.0) > self.off or row.get("off_log", 0.0) > self.ratio)}
        if far:
            name, row = max(far.items(), key=lambda item: max(item[1]["off"], item[1]["off_log"]))
            momentum = f"; momentum {row['momentum']:g}" if row["momentum"] is not None else ""
            yield self.suspect("running-statistics-off", subject=name, step=0, location=row["place"], asks={"unseen": True},
                               explains=("validation-worse",),
                               measured=f"running mean of {name} {row['off']:.2g} standard deviations off, variance by a factor of "
                                        f"{2.718 ** row['off_log']:.2g}{momentum}; {len(far)} of {len(rows)} layers",
                               expected="the statistics of the last batches",
                               message=f"{name} normalises in evaluation with statistics that are not those of the data it was trained on.",
                               remedies=("use a momentum of 0.1", "estimate the statistics again over some batches before evaluating"))
