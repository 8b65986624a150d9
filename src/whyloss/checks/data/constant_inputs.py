"""Check: inputs that are the same for every sample."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import learned


@dataclass(frozen=True)
class ConstantInputs(Check):
    """All samples of every traced batch are equal.

    Sees      the spread over samples of what the model is given, in each traced step.
    Expects   samples that differ.
    Means     an integer division, a cast or a wrong slice removed the information: the best answer is a constant.
    Not for   batches of one sample, a constant first argument of a model that learns from its others.
    Source    exact: the standard deviation over samples is 0; own measurements.
    """

    steps: int = 2

    stage = "data"
    needs = (Need("input", points=2),)
    isolates = "inputs differ between samples"
    causes = ("constant-inputs",)

    def judge(self, evidence, run):
        for place, column in evidence.by_subject("input", run).items():
            rows = [row for row in column.values if "between_samples" in row]
            if len(rows) < self.steps or any(row["between_samples"] != 0 for row in rows) or learned(evidence, run):
                continue
            row = rows[0]
            value = f"all {row['min']:g}" if row["min"] == row["max"] else f"from {row['min']:g} to {row['max']:g}, the same in each sample"
            yield self.prove("constant-inputs", subject="input", step=0, location=place, explains=("flat-from-start", "flat-at-baseline"),
                             measured=f"standard deviation over samples exactly 0 in {len(rows)} of {len(rows)} traced batches; values {value}",
                             expected="above 0",
                             message=f"Every sample the model is given is the same ({value}), so it can only learn one constant answer.",
                             remedies=("look at a batch right before the model: x.min(), x.max(), x.std()",
                                       "convert to float before dividing: x.float() / 255"))
