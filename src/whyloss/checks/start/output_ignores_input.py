"""Check: outputs that are the same whatever the input is."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.shapes.samples_mixed import attends_to_samples


@dataclass(frozen=True)
class OutputIgnoresInput(Check):
    """The model's output does not depend on what it is fed.

    Sees      that the training does not learn; on copies: the outputs when the inputs of all samples are exchanged, for the first, the trained
              and two random sets of weights.
    Expects   outputs that change with the inputs.
    Means     the input is overwritten, cast to something constant, or another tensor is used in its place; the best answer is a constant.
    Not for   trainings that learn, equal inputs, zero gates, dead or saturated units (other weights bring them to life), losses inside the model.
    Source    exact test: outputs for exchanged inputs are equal bit for bit.
    """

    stage = "start"
    needs = (Need("symptoms"), Need("input"))
    isolates = "the output depends on the input"
    causes = ("output-ignores-input",)

    def judge(self, evidence, run):
        rows = [row for column in evidence.by_subject("input", run).values() for row in column.values]
        if all(row.get("between_samples") == 0 for row in rows) or attends_to_samples(evidence, run):
            return
        where = next(iter(evidence.by_subject("root", run)), None)
        yield self.suspect("output-ignores-input", subject="model", step=0, location=where, asks={"unseen": True},
                           explains=("flat-at-baseline", "flat-from-start"),
                           measured="exchanging the inputs leaves every output as it was, bit for bit, for four sets of weights",
                           expected="outputs that change with the inputs",
                           message="What the model returns does not depend on what it is given, so it can only learn one constant answer.")
