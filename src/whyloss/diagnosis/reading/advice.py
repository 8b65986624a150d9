"""What a label can mean, what it cannot tell, and the single check to run next. A curve shows a symptom; the cause is found by a check."""

from dataclasses import dataclass, replace

from whyloss.diagnosis.reading.roles import ADVERSARIES, REINFORCEMENT, TABLE


@dataclass(frozen=True)
class Advice:
    """stage: the row of `whyloss order` that decides, or None; check: what to type, or what to log; because: why this one first."""

    can_mean: tuple[str, ...]
    cannot_tell: str
    check: str
    because: str
    stage: str | None = None

    def lines(self) -> list[str]:
        stage = f" (the stage `{self.stage}` decides)" if self.stage else ""
        can = [f"can mean: {', or '.join(self.can_mean)}"] if self.can_mean else []
        return [*can, f"cannot tell: {self.cannot_tell}", f"next: {self.check}{stage}: {self.because}"]


RUN = "`whyloss run train.py`"
TABLE_OF_ADVICE = {
    "non-finite": Advice(
        (
            "a step that is too large",
            "an unsafe operation (log of 0, division by 0, root at 0)",
            "half-precision overflow",
            "one bad sample or target",
        ),
        "which operation made the first non-finite number: the log shows when, not where",
        RUN,
        "it names the operation, file and line",
        "numerics",
    ),
    "diverged": Advice(
        (
            "a learning rate too high for this point of training",
            "gradients that are not cleared or averaged",
            "a flipped sign of the loss",
            "a change in the data",
        ),
        "whether the rate or the data is at fault: both look alike",
        RUN,
        "ten times less, beside a control arm, tells the two apart",
        "learning-rate",
    ),
    "flat-from-start": Advice(
        (
            "the optimizer does not hold the parameters, or is never stepped",
            "a loss without a gradient to the weights",
            "a learning rate of zero or far too small",
            "labels that do not belong to the inputs",
            "a model that was already trained as far as it goes",
        ),
        "capacity, overfitting and data quality: nothing was learned that could be judged",
        RUN,
        "whether every call reaches what it should costs nothing and is a proof",
        "wiring",
    ),
    "flat-at-baseline": Advice(
        (
            "an output that does not depend on the input",
            "labels that do not belong to the inputs",
            "saturated or dead units",
            "a gradient that stops on the way",
        ),
        "which of these: guessing looks the same whatever the reason",
        RUN,
        "ten examples must be memorised; if they are, the mechanics work and the data is left",
        "memorise",
    ),
    "plateau-high": Advice(
        (
            "a model too small or too strongly regularised",
            "a learning rate too high to go on or too low to arrive",
            "noisy labels",
            "the lowest loss this task allows",
        ),
        "whether the level is high for this task: give --floor or --baseline if you know them",
        RUN,
        "memorising ten examples separates the mechanics from data and tuning",
        "memorise",
    ),
    "underfitting": Advice(
        ("a model too small", "training too short for its learning rate", "too much regularisation", "inputs that do not hold the answer"),
        "whether a larger model would help",
        RUN,
        "a wider model beside a control arm decides",
        "generalisation",
    ),
    "overfitting": Advice(
        (
            "more capacity than the data can hold",
            "too little data or augmentation",
            "training past the useful point",
            "a validation set drawn from another distribution",
        ),
        "whether validation data differ from training data in kind",
        RUN,
        "validation is scored against a same-size sample of training",
        "generalisation",
    ),
    "learning-rate-limited-plateau": Advice(
        ("a learning rate too high to settle before each cut",),
        "that the schedule is bad: drops at planned cuts are how it is meant to work",
        RUN,
        "an earlier cut beside a control arm shows whether time was lost",
        "learning-rate",
    ),
    "spiky": Advice(
        ("a few bad or hard batches", "a learning rate near the edge", "loss-scale overflow", "an epoch that begins with another distribution"),
        "which batch: the log has no batch numbers",
        RUN,
        "the batches of the spikes are scored before and after the step",
        "data",
    ),
    "oscillating": Advice(
        ("a learning rate too high", "batches too small", "data that is not shuffled", "a schedule with restarts"),
        "whether the swings come from the rate or from the order of the data",
        RUN,
        "ten times less beside a control arm tells which",
        "learning-rate",
    ),
    "still-improving": Advice(
        ("a training stopped too early", "a learning rate that could be higher"),
        "where it would end",
        "train on, from the last checkpoint",
        "the loss still falls at the end of the log",
    ),
    "plateau-low": Advice(
        ("converged", "the floor of this task"),
        "whether the remaining loss is noise in the labels",
        "nothing, or compare with the floor (--floor)",
        "the loss fell by most of what it could",
    ),
    "converged": Advice(("training is done",), "how well it does on data it has not seen", "nothing", "the loss reached its floor"),
    "healthy": Advice(("training works",), "whether it could be better or faster", "nothing", "no symptom in this log"),
    "too-short-to-tell": Advice(
        (),
        "anything else: a fall, a plateau and plain noise look alike here",
        "log the loss more often, for at least 50 points",
        "then read the log again",
    ),
    "not-a-loss-curve": Advice(
        (), "whether training works: this curve need not fall", "name the curve with --loss NAME if there is a loss", "no column of this log is one"
    ),
}


def advise(reading) -> Advice:
    """Advice for one RunReading: the table's row for its label, bent by what else the log shows."""
    row = TABLE_OF_ADVICE[reading.label]
    if reading.label == "not-a-loss-curve":
        return _no_loss(row, reading.roles.context)
    if reading.label == "spiky":
        return _spiky(row, reading)
    if reading.label == "non-finite" and any("logger replaced" in c.detail for c in reading.curves.values()):
        return replace(
            row, check=f"set logging_nan_inf_filter=False, then {RUN}", because="the logger hides the NaN; the first one names the operation"
        )
    if reading.label in ("flat-from-start", "flat-at-baseline") and any("is exactly 0 throughout: n" in r for r in reading.remarks):
        return replace(row, because="a learning rate or gradient of exactly 0 is in the log: which call made it is a proof")
    if reading.label in ("healthy", "converged", "plateau-low") and not reading.roles.validation:
        return replace(
            row,
            cannot_tell="how it does on data it has not seen: no validation loss was logged",
            check="log a validation loss",
            because="without one, overfitting cannot be seen",
        )
    return row


def _no_loss(row, context):
    if context == REINFORCEMENT:
        return replace(
            row, check="plot the mean return over steps, over several seeds", because="the return says whether the policy learns; the losses do not"
        )
    if context == ADVERSARIES:
        return replace(row, check="log a score of the samples (FID or the like)", because="each loss only says which network is ahead")
    if context == TABLE:
        return replace(
            row,
            cannot_tell="how any of these runs went: only their ends are here",
            check="read the logs of the runs themselves",
            because="a table of ends has no time axis",
        )
    return row


def _spiky(row, reading):
    marks = list(reading.spikes.values())
    total = sum(len(s.steps) for s in marks) or 1
    for count, stage, why in (
        (sum(s.after_overflow for s in marks), "numerics", "most spikes follow an overflow: the operation that overflowed is named"),
        (sum(s.at_epoch_border for s in marks), "data", "most spikes come at the border of an epoch: the order of the data is looked at"),
        (sum(s.at_peak_rate for s in marks), "learning-rate", "most spikes come while the rate is near its peak: ten times less decides"),
    ):
        if 2 * count > total:
            return replace(row, stage=stage, because=why)
    return row
