"""Check: NaN or infinite values in the batch."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class NonFiniteInputs(Check):
    """The batch holds NaN or infinite values, and they reach the loss.

    Sees      counts of non-finite inputs and targets per traced batch; where the first non-finite loss came from.
    Expects   none, or a mask in front of the loss.
    Means     one such value makes output, loss and then every weight NaN in a single step.
    Not for   missing values that the model masks: there the loss stays finite.
    Source    IEEE 754; the replay links the loss back to a value from outside.
    """

    stage = "data"
    needs = (Need("input"), Need("first_non_finite"))
    isolates = "the data are finite"
    causes = ("non-finite-inputs",)

    def judge(self, evidence, run):
        fact = evidence.fact("first_non_finite", run=run)
        if fact.get("kind") != "input" or fact.get("phase") != "forward":
            return
        for place, column in evidence.by_subject("input", run).items():
            steps = [(step, row) for step, row in zip(column.steps, column.values) if row["non_finite"]]
            if not steps:
                continue
            step, row = steps[0]
            columns = row.get("non_finite_columns")
            whole = columns and row["non_finite"] >= len(columns) * row["shape"][0] and len(columns) < 5
            where = f" in column{'s' if len(columns) > 1 else ''} {', '.join(map(str, columns))}" if columns else ""
            hint = " Whole columns are bad: most likely a division by a standard deviation of 0." if whole else ""
            yield self.prove("non-finite-inputs", subject=f"input (column {columns[0]})" if columns else "input", step=step, location=place,
                             explains=("non-finite",),
                             measured=f"{row['non_finite']} non-finite values{where} of a batch {tuple(row['shape'])}, in {len(steps)} of "
                                      f"{len(column)} traced batches",
                             expected="0", message=f"The input already holds NaN or infinite values{where}.{hint}",
                             remedies=("divide by (std + 1e-8), or drop constant columns",)
                             if whole else ("drop or impute these rows before training", "assert torch.isfinite(x).all() in the data set"))
